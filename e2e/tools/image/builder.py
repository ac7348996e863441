"""buildah without a daemon: what the Dockerfile says, executed in chroots, with images as plain folders."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from e2e.harness.errors import HarnessError
from e2e.support.paths import ROOT

SOURCE_DATE_EPOCH: Final = 1763683200
PACKAGES: Final = {"buildah": "buildah", "mmdebstrap": "mmdebstrap", "runc": "runc"}
"""Debian package by program."""


def require() -> None:
    """Raise HarnessError, in one sentence, where the image cannot be built and run."""
    if os.geteuid() != 0:
        raise HarnessError("the image is built and run in chroots, which needs root")
    if missing := [package for program, package in PACKAGES.items() if shutil.which(program) is None]:
        raise HarnessError(f"Debian packages are missing: apt-get install --no-install-recommends {' '.join(missing)}")


class Builder:
    """A storage of images that lies in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        storage, state = folder / "storage", folder / "state"
        self._command = ["buildah", f"--root={storage}", f"--runroot={state}", "--storage-driver=vfs"]

    def run(self, *arguments: str) -> str:
        """Run buildah and return what it prints; a failure is an error with the end of its message."""
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"buildah {arguments[0]} ended with status {done.returncode}: {done.stderr[-3000:]}")
        return done.stdout

    def build(self, base: str, *arguments: str) -> str:
        """Execute the Dockerfile with `base` in place of the image of the registry; return the id of the image."""
        id_file = self.folder / "id"
        self.run(
            "build",
            "--isolation=chroot",
            "--pull-never",
            "--no-cache",
            "--format=docker",  # OCI's has no HEALTHCHECK
            f"--timestamp={SOURCE_DATE_EPOCH}",
            f"--build-arg=PYTHON_IMAGE={base}",
            f"--build-arg=SOURCE_DATE_EPOCH={SOURCE_DATE_EPOCH}",
            f"--iidfile={id_file}",
            *arguments,
            str(ROOT),
        )
        return id_file.read_text().strip().removeprefix("sha256:")

    def unpack(self, image: str) -> Path:
        """The root file system of an image as a folder."""
        container = self.run("from", "--pull-never", image).strip()
        return Path(self.run("mount", container).strip())
