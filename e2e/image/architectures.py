"""Whether the image can be made for an architecture that this machine cannot execute."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from e2e.harness.errors import HarnessError
from e2e.image.builder import ROOT

OTHER: Final = "aarch64"
SYSTEMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""Names of what the base image's C library is compatible with."""


def has_wheels(folder: Path) -> str:
    """Every dependency of the image has a wheel for the other architecture, of the bytes that are pinned."""
    if (named := re.search(r"python:(3\.\d+)", (ROOT / "Dockerfile").read_text())) is None:
        raise HarnessError("the Dockerfile names no version of Python in PYTHON_IMAGE")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", f"--dest={folder}"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--implementation=cp"]
    command += [f"--python-version={named[1]}", *(f"--platform={system}_{OTHER}" for system in SYSTEMS)]
    command.append(f"--requirement={ROOT / 'constraints-image.txt'}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"not all wheels for {OTHER} can be had: {done.stderr.strip()[-1000:]}")
    wheels = [path.name for path in folder.glob("*.whl")]
    compiled = sum(name.endswith(f"_{OTHER}.whl") for name in wheels)
    return f"{len(wheels)} wheels for {OTHER} and Python {named[1]}, {compiled} of them compiled, as pinned"
