"""Virtual environments of pinned packages, made once per set of pins in the cache folder."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

from e2e.harness.binaries import cache_folder, locked
from e2e.harness.errors import HarnessError


def environment(name: str, constraints: Path) -> Path:
    """The folder of programs (`bin`) that has what `constraints` pins; installs it if need be.

    Raises HarnessError where that cannot be had.
    """
    recipe = constraints.read_bytes() + sysconfig.get_config_var("EXT_SUFFIX").encode()
    folder = cache_folder() / name / hashlib.sha256(recipe).hexdigest()[:12]
    complete = folder / "complete"
    with locked(folder.with_suffix(".lock")):
        if not complete.exists():
            _install(name, folder, constraints)
            complete.touch()
    return folder / "bin"


def _install(name: str, folder: Path, constraints: Path) -> None:
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [*pip, "install", "--require-hashes", "--only-binary", ":all:", "-r", str(constraints)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"the environment {name!r} cannot be installed: {done.stderr.strip()[-500:]}")
