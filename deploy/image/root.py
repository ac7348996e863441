"""Collect the root file system of the image: `python3 root.py TARGET`, in a container of the base image (Dockerfile).

That is the interpreter that runs this, its standard library, the environment /venv, and the shared libraries that those
are linked against, each at the path it has in the base image. All times are SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

ENVIRONMENT: Final = Path("/venv")
MANAGER: Final = ENVIRONMENT / "bin" / "training-operator"
USER: Final = 65532

UNUSED: Final = (
    "__pycache__", "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages",
    "sqlite3", "test", "tkinter", "turtledemo",
    "_ctypes_test.*", "_curses*.so", "_dbm.*", "_gdbm.*", "_sqlite3.*", "_test*", "_tkinter.*", "nis.*", "readline.*",
    "xxlimited*",
)  # fmt: skip
"""Parts of the standard library that no server needs, some because of the libraries that they would bring along."""
PACKED: Final = "kubernetes_asyncio"
"""40 MB that are needed to read a kubeconfig, which an operator in a cluster does not have."""
ALSO: Final = ("libgcc_s.so.1",)
"""Libraries that are opened by name: the C library cannot end a thread without this one."""
FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/:/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}


def main(target: Path) -> None:
    """Fill `target`, which must not exist yet."""
    target.mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        if (link := Path("/", name)).is_symlink():
            (target / name).symlink_to(link.readlink())
    interpreter = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    (packages,) = ENVIRONMENT.glob("lib/python*/site-packages")
    _copy(interpreter, target)
    for folder in (library, ENVIRONMENT):
        unused = shutil.ignore_patterns(*UNUSED) if folder == library else shutil.ignore_patterns("[Aa]ctivate*")
        shutil.copytree(folder, target / folder.relative_to("/"), symlinks=True, ignore=unused)
    _copy_links(ENVIRONMENT / "bin" / "python", target)
    (target / "manager").symlink_to(MANAGER)

    libraries = sorted({each for file in [interpreter, *_extensions(target)] for each in _linked(file)} | {*_also()})
    for each in libraries:
        _copy(each, target)
    _index_libraries(target)
    _name_packages([interpreter, *libraries], target)
    for name, text in FILES.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    _release(target)
    _compile(target, library)
    _pack(target / packages.relative_to("/"))
    _set_times(target, int(os.environ["SOURCE_DATE_EPOCH"]))


def _copy(file: Path, target: Path) -> None:
    """Put a file where it is in the base image, whose /lib may be a link to /usr/lib."""
    place = target / file.parent.resolve().relative_to("/") / file.name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, place)


def _copy_links(link: Path, target: Path) -> None:
    """Copy the links outside of the environment by which it finds its interpreter."""
    while link.is_symlink():
        place = target / link.parent.resolve().relative_to("/") / link.name
        if not place.is_symlink():
            place.symlink_to(link.readlink())
        link = link.parent / link.readlink()


def _extensions(target: Path) -> Iterator[Path]:
    """The shared libraries that were copied with their folders, at the paths they came from."""
    for file in target.rglob("*.so*"):
        if file.is_file() and not file.is_symlink():
            yield Path("/") / file.relative_to(target)


def _linked(file: Path) -> Iterator[Path]:
    """The shared libraries outside of the environment that the dynamic linker would load for `file`."""
    said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    if "not found" in said:
        raise SystemExit(f"{file} is linked against what the base image lacks:\n{said}")
    for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.MULTILINE):
        if ENVIRONMENT not in (library := Path(path)).parents:
            yield library


def _also() -> Iterator[Path]:
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for name in ALSO:
        if (found := re.search(rf"^\s+{re.escape(name)} .*=> (\S+)$", known, re.MULTILINE)) is None:
            raise SystemExit(f"the base image lacks {name}")
        yield Path(found[1])


def _index_libraries(target: Path) -> None:
    """Let the dynamic linker look where it looks in the base image."""
    shutil.copytree("/etc/ld.so.conf.d", target / "etc/ld.so.conf.d")
    shutil.copy("/etc/ld.so.conf", target / "etc")
    subprocess.run(["/sbin/ldconfig", "-X", "-r", target], check=True)
    shutil.rmtree(target / "var/cache", ignore_errors=True)  # of times and inodes


def _name_packages(files: list[Path], target: Path) -> None:
    """Say what of Debian is inside, where scanners look in images without a package manager."""
    folder = target / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for file in files:
        for path in {file, file.parent.resolve() / file.name, file.resolve()}:
            owner = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True, check=False).stdout
            if owner:
                package = owner.partition(": ")[0]
                status = subprocess.run(["dpkg-query", "--status", package], capture_output=True, check=True).stdout
                (folder / package.partition(":")[0]).write_bytes(status)


def _release(target: Path) -> None:
    """Keep the name and version of the distribution; scanners need them as well."""
    release = Path("/etc/os-release")
    (target / "usr/lib").mkdir(parents=True, exist_ok=True)
    (target / "usr/lib/os-release").write_bytes(release.read_bytes())
    (target / "etc/os-release").symlink_to("../usr/lib/os-release")


def _compile(target: Path, library: Path) -> None:
    """Nothing can be compiled later: the root is read-only. Nothing is looked at again either: no source changes."""
    for folder in (library, ENVIRONMENT):
        place = target / folder.relative_to("/")
        mode = PycInvalidationMode.UNCHECKED_HASH
        if not compileall.compile_dir(place, quiet=1, stripdir=target, prependdir="/", invalidation_mode=mode):
            raise SystemExit(f"{folder} cannot be compiled")


def _pack(packages: Path) -> None:
    """Keep the bytecode of one package in a compressed archive, which Python imports from as from a folder."""
    archive = packages / f"{PACKED}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for source in sorted((packages / PACKED).rglob("*.py")):
            place = source.relative_to(packages).with_suffix(".pyc")
            # Without a time of its own an entry is of 1980.
            entry = zipfile.ZipInfo(str(place))
            content.writestr(entry, Path(cache_from_source(source)).read_bytes(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(packages / PACKED)
    (packages / f"{PACKED}.pth").write_text(f"{archive.name}\n")


def _set_times(target: Path, seconds: int) -> None:
    for path in [target, *target.rglob("*")]:
        os.utime(path, (seconds, seconds), follow_symlinks=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
