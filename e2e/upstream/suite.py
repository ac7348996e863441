"""The tests as their project ships them: fetched once, by their hash, into the cache folder."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from e2e.harness.binaries import cache_folder, locked
from e2e.harness.environment import environment
from e2e.harness.errors import HarnessError

HERE: Final = Path(__file__).parent
PINS: Final = HERE / "suite.txt"
VERSION: Final = re.findall("==([^ ]+)", PINS.read_text())[0]
LIMIT: Final = 1800.0
"""Seconds in which the tests of one kind must end; on an idle machine they take two minutes at most."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The unpacked source distribution, and a Python that has what the tests import."""

    folder: Path
    python: Path

    def run(self, kind: str, kubeconfig: Path, *, gangs: bool = False) -> dict[str, str]:
        """Run the tests of one kind, which print what they do; `passed`, `skipped` or `failed` of each."""
        gang = {"GANG_SCHEDULER_NAME": "scheduler-plugins"} if gangs else {}
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder, "results.xml")
            command: list[str | Path] = [
                self.python,
                "-m",
                "pytest",
                f"test/e2e/test_e2e_{kind}.py",
                "-p",
                "no:cacheprovider",
            ]
            subprocess.run(
                [*command, f"--junitxml={results}"],
                cwd=self.folder,
                env={**os.environ, "KUBECONFIG": str(kubeconfig), **gang},
                check=False,
                timeout=LIMIT,
            )
            cases = ET.parse(results).getroot().iter("testcase")
            return {case.attrib["name"]: outcome(case) for case in cases}


def outcome(case: ET.Element) -> str:
    """What became of a test."""
    found = {child.tag for child in case}
    if found & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in found else "passed"


def suite() -> Suite:
    """The suite, fetched if need be; raises `HarnessError` where it cannot be had."""
    python = environment("upstream", HERE / "constraints.txt") / "python"
    folder = python.parents[1] / "suite"
    with locked(cache_folder() / "upstream" / "suite.lock"):
        if not folder.exists():
            _fetch(python, folder)
    return Suite(folder, python)


def _fetch(python: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        command: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
        command += ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
        done = subprocess.run([*command, "--dest", temporary, "-r", PINS], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"the suite cannot be fetched: {done.stderr.strip()[-500:]}")
        [archive] = Path(temporary).glob("*.tar.gz")
        with tarfile.open(archive) as content:
            content.extractall(temporary, filter="data")
        Path(temporary, archive.name.removesuffix(".tar.gz")).rename(folder)
