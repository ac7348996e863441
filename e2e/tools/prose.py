"""Hold pages, help texts and messages to the words of `e2e/support/prose`, by Vale: `python -m e2e.tools.prose`."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from e2e.harness.binaries import VALE, programs
from e2e.support.documentation.commands import pages
from e2e.support.paths import ROOT

SETTINGS: Final = ROOT / "e2e" / "support" / "prose" / "vale.ini"
PACKAGES: Final = ("api", "controllers", "operator", "local", "migration", "console")
HELP: Final = ("cli.py", "commands")
"""Names of modules and folders whose docstrings click shows as help."""


def texts(source: str, *, with_docstrings: bool) -> str:
    """The strings of a Python module with a space in them, each at its line, for Vale to read as plain text."""
    tree = ast.parse(source)
    lines = [""] * (source.count("\n") + 1)
    left_out = set() if with_docstrings else set(map(id, _docstrings(tree)))
    for node in ast.walk(tree):
        if id(node) not in left_out and isinstance(node, ast.Constant) and isinstance(node.value, str):
            for number, line in enumerate(node.value.splitlines() if " " in node.value else (), node.lineno - 1):
                lines[min(number, len(lines) - 1)] += f" {line.strip()}"
    return "\n".join(lines) + "\n"


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    """Strings that stand as statements: docstrings of modules, classes, functions and attributes."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))


def documents() -> set[Path]:
    """All pages, what code hosts show of the repository, and the forms of its issues."""
    return {
        *pages(),
        *ROOT.glob("*.md"),
        *(ROOT / ".github").glob("*.md"),
        *(ROOT / ".github").glob("ISSUE_TEMPLATE/*"),
    }


def modules() -> Iterator[Path]:
    """The modules of the product."""
    return (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


def alerts(vale: Path, folder: Path, files: Sequence[Path]) -> list[str]:
    """What Vale finds in files of a folder, as `FILE:LINE: what to write`."""
    command = [str(vale), f"--config={SETTINGS}", "--output=line", "--no-exit", *map(str, files)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Vale failed: {done.stdout}{done.stderr}")
    found = []
    for line in done.stdout.splitlines():
        file, number, _column, _rule, told = line.split(":", 4)
        found.append(f"{file.removesuffix('.txt')}:{number}: {told}")
    return found


def check(vale: Path) -> list[str]:
    """What is wrong with the words of all pages, help texts and messages."""
    with tempfile.TemporaryDirectory() as name:
        copies = []
        for path in (*sorted(documents()), *modules()):
            relative = path.relative_to(ROOT)
            text = path.read_text()
            if path.suffix == ".py":
                text = texts(text, with_docstrings=any(part in HELP for part in relative.parts))
            if path.suffix != ".md":
                relative = relative.with_name(f"{relative.name}.txt")
            copies.append(relative)
            (Path(name) / relative).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / relative).write_text(text)
        return alerts(vale, Path(name), copies)


def main() -> int:
    """Print what is wrong; the exit status is 1 if something is."""
    if shutil.which("go") is None:
        print("prose: not checked, because Go is needed to build Vale", file=sys.stderr)
        return 0
    found = check(programs([VALE])["vale"])
    print("\n".join(found) or "prose: every page, help text and message keeps to the vocabulary")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
