"""Whether the image can be made for an architecture that this machine cannot execute."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from e2e.harness.errors import HarnessError
from e2e.support.paths import ROOT
from e2e.tools.image.base import bootstrap

OTHER: Final = "aarch64"
DEBIAN: Final = "arm64"
"""What Debian calls it."""
SYSTEMS: Final = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""Names of what the base image's C library is compatible with."""
EMULATOR: Final = f"qemu-{OTHER}-static"
PACKAGES: Final = ("python3", "libstdc++6")
"""Of Debian, for the emulator: the interpreter, and what every image has because apt needs it."""
SOURCES: Final = ("api", "controllers", "operator", "local", "migration")
START: Final = """
import importlib, pathlib, sys
site = pathlib.Path(sys.argv.pop(1))
compiled = sorted(str(path.relative_to(site)).split(".")[0].replace("/", ".") for path in site.rglob("*.so"))
for name in compiled:
    importlib.import_module(name)
print(len(compiled), end=" ")
from training_operator.cli import main
main()
"""
"""Loads everything that is compiled, then asks the operator for its version."""


def has_wheels(folder: Path) -> str:
    """Every dependency of the image has a wheel for the other architecture, of the bytes that are pinned."""
    if (named := re.search(r"python:(3\.\d+)", (ROOT / "Dockerfile").read_text())) is None:
        raise HarnessError("the Dockerfile names no version of Python in PYTHON_IMAGE")
    _pip("download", named[1], f"--dest={folder}")
    wheels = [path.name for path in folder.glob("*.whl")]
    compiled = sum(name.endswith(f"_{OTHER}.whl") for name in wheels)
    return f"{len(wheels)} wheels for {OTHER} and Python {named[1]}, {compiled} of them compiled, as pinned"


def starts(folder: Path) -> str:
    """The operator starts on the other architecture's Python, with its wheels, where there is an emulator."""
    if shutil.which(EMULATOR) is None:
        return "not tried, for want of an emulator: apt-get install --no-install-recommends qemu-user-static"
    root, site = folder / "root", folder / "site"
    bootstrap(root, PACKAGES, "--variant=extract", f"--architectures={DEBIAN}")
    python = (root / "usr/bin/python3").readlink()
    _pip("install", python.name.removeprefix("python"), f"--target={site}")
    (own,) = Path(sysconfig.get_path("purelib")).glob("training_operator-*.dist-info")
    shutil.copytree(own, site / own.name)  # the version that the operator says
    found = ":".join(map(str, (site, *(ROOT / each for each in SOURCES))))
    environment = ["-E", f"PYTHONPATH={found}", "-E", "PYTHONDONTWRITEBYTECODE=1"]
    command = [EMULATOR, "-L", str(root), *environment, str(root / "usr/bin" / python)]
    done = subprocess.run([*command, "-c", START, str(site), "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"the operator does not start on {OTHER}: {done.stderr.strip()[-1000:]}")
    compiled, _, version = done.stdout.strip().partition(" ")
    return f"{version} starts on an emulated {OTHER} with {python}, and all {compiled} compiled modules can be loaded"


def _pip(command: str, python: str, *options: str) -> None:
    """Let pip get the image's dependencies for the other architecture."""
    line = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-deps", *options]
    line += ["--only-binary=:all:", "--require-hashes", "--implementation=cp", f"--python-version={python}"]
    line += [f"--platform={system}_{OTHER}" for system in SYSTEMS]
    line.append(f"--requirement={ROOT / 'constraints-image.txt'}")
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"not all wheels for {OTHER} can be had: {done.stderr.strip()[-1000:]}")
