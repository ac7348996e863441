"""Compare what is pinned with known vulnerabilities: `python -m e2e.tools.vulnerabilities --database FOLDER`.

FOLDER has the advisories of https://osv.dev for PyPI as `osv-scanner/PyPI/all.zip`; nothing is asked for over a
network, unless `--download` fetches them first. Before, a made-up advisory shows that the scanner finds what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from e2e.harness.binaries import OSV_SCANNER, programs
from e2e.harness.errors import HarnessError, told
from e2e.support.paths import ROOT

DATABASE = Path("osv-scanner", "PyPI", "all.zip")
"""Where the scanner looks within its folder."""
PINS = sorted([*ROOT.glob("constraints*.txt"), *ROOT.glob("examples/**/requirements.txt")])
MADE_UP = "MADE-UP-1"
CLEAN, FOUND = 0, 1
"""Statuses of the scanner: nothing is known, something is; others are failures."""
LIMIT = 600.0
"""Seconds for the scanner, downloads included: without a network it would try for as long as it is let."""


def scan(folder: Path, pins: Sequence[Path], *options: str, limit: float = LIMIT) -> subprocess.CompletedProcess[str]:
    """Compare files of pins with the advisories in a folder."""
    scanner = programs([OSV_SCANNER])["osv-scanner"]
    with tempfile.TemporaryDirectory() as copies:
        files = [f"--lockfile=requirements.txt:{without_markers(path, Path(copies))}" for path in pins]
        return subprocess.run(
            [scanner, "scan", "--experimental-offline-vulnerabilities", "--experimental-no-resolve", *options, *files],
            env={**os.environ, "OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )


def without_markers(pins: Path, folder: Path) -> Path:
    """A copy of a file: the scanner takes the operator of `; python_version >= ...` for that of the version."""
    copy = folder / pins.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(re.sub(r" ;[^\\\n]*", " ", pins.read_text()))
    return copy


def advise(folder: Path, packages: Sequence[str]) -> None:
    """Write a database with one advisory: every version of these packages is vulnerable."""
    versions = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}
    affected = [{"package": {"ecosystem": "PyPI", "name": each}, "ranges": [versions]} for each in packages]
    advisory = {"id": MADE_UP, "modified": "2026-01-01T00:00:00Z", "affected": affected}
    (folder / DATABASE).parent.mkdir(parents=True)
    with zipfile.ZipFile(folder / DATABASE, "w") as archive:
        archive.writestr(f"{MADE_UP}.json", json.dumps(advisory))


def check_scanner() -> None:
    """Raise HarnessError unless a made-up advisory is found for every pin of each file, and for nothing else."""
    for path in PINS:
        pinned = sorted(set(re.findall(r"^([\w.-]+)==", path.read_text(), re.MULTILINE)))
        for packages, status in ((pinned, FOUND), (["no-such-package"], CLEAN)):
            with tempfile.TemporaryDirectory() as folder:
                advise(Path(folder), packages)
                done = scan(Path(folder), [path], "--format=json")
            found = set(re.findall(r'"name": "([^"]+)"', done.stdout))
            missed = found ^ {*packages} if status == FOUND else found
            if done.returncode != status or missed:
                raise HarnessError(f"{path}: status {done.returncode}, not as advised: {sorted(missed)}: {done.stderr}")


def main() -> int:
    """Return 0 if nothing is known of any pin, 1 if something is, 2 if that cannot be looked up."""
    parser = argparse.ArgumentParser(prog="python -m e2e.tools.vulnerabilities", description=__doc__)
    parser.add_argument("--database", type=Path, help="folder with osv-scanner/PyPI/all.zip")
    parser.add_argument("--download", action="store_true", help="fetch the advisories into that folder first")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for the scanner and what it fetches")
    arguments = parser.parse_args()
    with told("vulnerabilities"):
        check_scanner()
    print(f"a made-up advisory is found for every pin of {len(PINS)} files", flush=True)
    folder: Path | None = arguments.database
    if folder is None or not (arguments.download or (folder / DATABASE).is_file()):
        print(f"not compared with real advisories: there is no FOLDER/{DATABASE} (--database FOLDER)", file=sys.stderr)
        return 2
    try:
        done = scan(
            folder, PINS, *["--experimental-download-offline-databases"] * arguments.download, limit=arguments.limit
        )
    except subprocess.TimeoutExpired:
        print(
            f"the scanner had no answer after {arguments.limit:g} s; without a network use --database", file=sys.stderr
        )
        return 2
    print(done.stdout, done.stderr, sep="\n")
    return done.returncode if done.returncode in (CLEAN, FOUND) else 2


if __name__ == "__main__":
    sys.exit(main())
