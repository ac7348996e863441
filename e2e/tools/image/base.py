"""A base image made of Debian's packages, for machines that reach no registry of images."""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from e2e.harness.binaries import cache_folder, locked
from e2e.harness.errors import HarnessError
from e2e.tools.image.builder import Builder

NAME: Final = "localhost/python-base:1"
PACKAGES: Final = ("python3", "python3-venv", "python3-pip")
PIP_CONFIGURATION: Final = "[global]\ncert = /etc/pip-certificates.crt\n"


def make_base(builder: Builder) -> str:
    """Put the base image into the builder's storage and return its name.

    It is Debian of this machine's release with its Python, and the certificates that this machine trusts, for pip.
    """
    archive = _archive()
    container = builder.run("from", "scratch").strip()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pip.conf").write_text(PIP_CONFIGURATION)
        if (trusted := os.environ.get("PIP_CERT") or ssl.get_default_verify_paths().cafile) is None:
            raise HarnessError("this machine has no file of trusted certificates: apt-get install ca-certificates")
        shutil.copy(trusted, Path(folder, "pip-certificates.crt"))
        builder.run("add", "--quiet", container, str(archive), "/")
        for name in ("pip.conf", "pip-certificates.crt"):
            builder.run("copy", "--quiet", container, f"{folder}/{name}", f"/etc/{name}")
    builder.run("commit", "--quiet", "--rm", "--timestamp=0", container, NAME)
    return NAME


def _archive() -> Path:
    """The root file system as an archive in the cache, made once per release and list of packages."""
    release = _release()
    recipe = hashlib.sha256(" ".join((release, *PACKAGES)).encode()).hexdigest()[:8]
    archive = cache_folder() / "image" / f"{release}-{recipe}.tar"
    with locked(archive.with_suffix(".lock")):
        if not archive.exists():
            partial = archive.with_name(f"partial-{archive.name}")
            bootstrap(partial, PACKAGES, "--variant=minbase")
            partial.rename(archive)
    return archive


def bootstrap(target: Path, packages: Sequence[str], *options: str) -> None:
    """Let mmdebstrap put packages of this machine's release of Debian, from this machine's sources, into `target`."""
    sources = [str(path) for path in sorted(Path("/etc/apt").glob("sources.list*")) if path.is_file()]
    sources += [str(path) for path in sorted(Path("/etc/apt/sources.list.d").glob("*debian*"))]
    include = f"--include={','.join(packages)}"
    command = ["mmdebstrap", "--quiet", *options, include, _release(), str(target), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"mmdebstrap ended with status {done.returncode}: {done.stderr.strip()[-500:]}")


def _release() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise HarnessError("/etc/os-release does not name Debian's release: the base image is made on Debian alone")
