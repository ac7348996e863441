"""Lines of the product, of tests and of recordings: `make size`, a table, or JSON where it is piped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from e2e.support.paths import ROOT
from rich.console import Console
from rich.table import Table

PRODUCT: Final = ("api", "controllers", "operator", "local", "migration", "deploy")
TESTS: Final = ("unit_tests", "e2e")
RECORDED: Final = (
    "e2e/conformance/golden",
    "e2e/fidelity/recorded",
    "e2e/support/definitions",
    "e2e/support/scheduling.json",
    "unit_tests/migration/records",
    "unit_tests/migration/v2/recorded",
)
GENERATED: Final = (
    "*.sum",
    "*/kubernetes.json",
    "*/protobuf.json",
    "constraints*.txt",
    "requirements.txt",
    "crds/*.yaml",
)
"""What programs write, other than recordings."""


def files() -> Iterator[Path]:
    """Every file of the repository, relative to its root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    yield from (Path(name) for name in listed.split("\0") if name)


def part(file: Path) -> str:
    """What a file is counted as."""
    if any(file.is_relative_to(folder) for folder in RECORDED):
        return "recorded"
    if any(file.match(pattern) for pattern in GENERATED):
        return "generated"
    for name, folders in (("product", PRODUCT), ("tests", TESTS), ("docs", ("docs",)), ("examples", ("examples",))):
        if file.parts[0] in folders:
            return name
    return "other"


def sizes() -> dict[str, dict[str, int]]:
    """Files and lines of each part."""
    counted: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for file in files():
        if (ROOT / file).is_file():
            counted[part(file)] += 1
            lines[part(file)] += (ROOT / file).read_bytes().count(b"\n")
    return {name: {"files": counted[name], "lines": lines[name]} for name in sorted(counted)}


def main() -> None:
    """Print the sizes."""
    found = sizes()
    if not sys.stdout.isatty():
        print(json.dumps(found))
        return
    table = Table("PART", "FILES", "LINES")
    for name, size in found.items():
        table.add_row(name, f"{size['files']:,}", f"{size['lines']:,}")
    Console().print(table)


if __name__ == "__main__":
    main()
