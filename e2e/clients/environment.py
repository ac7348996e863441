"""The virtual environment of the clients, made once per set of pins in the cache folder."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

from e2e.harness.binaries import cache_folder, locked
from e2e.harness.errors import HarnessError

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def client_python() -> Path:
    """The Python that has the clients; installs them if need be, raises HarnessError where they cannot be had."""
    recipe = CONSTRAINTS.read_bytes() + sysconfig.get_config_var("EXT_SUFFIX").encode()
    folder = cache_folder() / "clients" / hashlib.sha256(recipe).hexdigest()[:12]
    python, complete = folder / "bin" / "python", folder / "complete"
    with locked(folder.with_suffix(".lock")):
        if not complete.exists():
            _install(folder, python)
            complete.touch()
    return python


def _install(folder: Path, python: Path) -> None:
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [*pip, "install", "--require-hashes", "--only-binary", ":all:", "-r", str(CONSTRAINTS)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"the clients cannot be installed: {done.stderr.strip()[-500:]}")
