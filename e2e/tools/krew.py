"""kubectl's plugin for krew: an archive per architecture, and the manifest that names them, beside a release's wheel.

`python -m e2e.tools.krew dist --repository URL`. An archive has the program with its packages as pinned, for one
version of Python, which has to be on the path; whatever of it this machine can run is run.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.errors import HarnessError, told
from e2e.support.paths import ROOT
from packaging.requirements import Requirement

from training_operator import __version__

ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
"""Go's names, which krew takes, and the machine's own."""
SYSTEMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
EXTRAS: Final = ("", "code", "console", "local", "speed")
PROGRAM: Final = "kubectl-training"
LAUNCHER: Final = """\
#!/usr/bin/env python{python}
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from training_operator.cli import main

main()
"""


def main() -> None:
    """Make everything; the exit status is 1 if something cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.tools.krew", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is and the rest goes")
    parser.add_argument("--repository", required=True, help="URL below which the release will be")
    parser.add_argument("--python", default=".".join(map(str, sys.version_info[:2])), help="version the archives need")
    arguments = parser.parse_args()
    with told("krew", 1):
        [wheel] = arguments.folder.glob("*.whl")
        sums = {name: _archive(arguments.folder, wheel, name, arguments.python) for name in ARCHITECTURES}
    text = yaml.safe_dump(manifest(arguments.repository, sums, arguments.python), sort_keys=False)
    (arguments.folder / "training.yaml").write_text(text)


def manifest(repository: str, sums: dict[str, str], python: str) -> dict[str, Any]:
    """What krew needs to install the archives with these checksums, by architecture."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "training"},
        "spec": {
            "version": f"v{__version__}",
            "homepage": repository,
            "shortDescription": "Check, run and migrate training jobs",
            "description": distribution("training-operator").metadata["Summary"],
            "caveats": f"Needs python{python} on the path.",
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": "linux", "arch": name}},
                    "uri": f"{repository}/releases/download/v{__version__}/{_archive_name(name)}",
                    "sha256": digest,
                    "bin": PROGRAM,
                }
                for name, digest in sums.items()
            ],
        },
    }


def _archive_name(architecture: str) -> str:
    return f"{PROGRAM}-linux-{architecture}.tar.gz"


def _archive(folder: Path, wheel: Path, architecture: str, python: str) -> str:
    """Write the archive of an architecture, run it if this machine can, and return its checksum."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "pins.txt").write_text("".join(_pins()))
        target = [
            f"--target={root / 'lib'}",
            "--only-binary=:all:",
            "--implementation=cp",
            f"--python-version={python}",
        ]
        target += [f"--platform={system}_{ARCHITECTURES[architecture]}" for system in SYSTEMS]
        for what in (["--require-hashes", f"--requirement={root / 'pins.txt'}"], [str(wheel)]):
            _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", *target, *what)
        (root / PROGRAM).write_text(LAUNCHER.format(python=python))
        (root / PROGRAM).chmod(0o755)
        if platform.machine() == ARCHITECTURES[architecture] and shutil.which(f"python{python}"):
            print(f"{architecture}: {_run(str(root / PROGRAM), '--version').strip()}", flush=True)
        archive = folder / _archive_name(architecture)
        with tarfile.open(archive, "w:gz", compresslevel=6) as tar:
            for each in (ROOT / "LICENSE", root / PROGRAM, root / "lib"):
                tar.add(each, each.name)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def _pins() -> Iterator[str]:
    """The lines of `constraints.txt` for what the program needs with its extras."""
    needed = set[str]()
    left: list[tuple[str, tuple[str, ...]]] = [("training-operator", EXTRAS)]
    while left:
        name, extras = left.pop()
        for wanted in map(Requirement, distribution(name).requires or ()):
            applies = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)
            if applies and wanted.name.lower() not in needed:
                needed.add(wanted.name.lower())
                left.append((wanted.name, ("", *wanted.extras)))
    for block in re.split(r"^(?=[a-z0-9])", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE):
        if re.split(r"\[|==", block)[0] in {name.replace("_", "-") for name in needed}:
            yield block


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
