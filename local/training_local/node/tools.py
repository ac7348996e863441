"""The programs that pods find first: the chosen Python, and stand-ins for tools that need a real cluster's network."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from training_local.node import nslookup

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOCALE = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")


def interpreter(path: Path) -> Path:
    """The interpreter that `path` is, or that is in the virtual environment `path`; raises `ValueError` if it is none.

    Links are not resolved: a virtual environment's Python knows its packages by its own place.
    """
    if not path.is_absolute():
        raise ValueError(f"{path}: is not an absolute path")
    if path.is_dir():
        found = next((path / "bin" / name for name in ("python", "python3") if (path / "bin" / name).exists()), None)
        if found is None:
            raise ValueError(f"{path}: the folder is not a virtual environment: it has no bin/python")
        path = found
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ValueError(f"{path}: is not executable")
    return path


def install(folder: Path, python: Path) -> str:
    """Fill `folder` and return the search path for pods.

    `python` and `python3` lead to the chosen interpreter. A virtual environment works only under its own path, so its
    folder joins the search path; other interpreters are linked.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _script(folder / "nslookup", (sys.executable, "-I", "-S", nslookup.__file__))
    python = Path(os.path.abspath(python))  # noqa: PTH100 - resolving the link would leave the virtual environment
    _script(folder / "torchrun", (str(python), str(Path(__file__).with_name("torchrun.py"))))
    if not (python.parent.parent / "pyvenv.cfg").exists():
        for name in ("python", "python3"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(python)
    return os.pathsep.join((str(folder), search_path(python)))


def search_path(python: Path) -> str:
    """Where the programs of the machine are looked for by pods with this Python."""
    return os.pathsep.join((str(python.parent), _SYSTEM_PATH))


def _script(path: Path, command: tuple[str, ...]) -> None:
    text = f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'
    if not path.exists() or path.read_text() != text:  # one that a pod executes must not be written
        path.write_text(text)
        path.chmod(0o755)


def base_environment(search_path: str, temporary: str, hostname: str, own: Mapping[str, str]) -> dict[str, str]:
    """The variables every container starts with; of the node's `own` only the home and the locale are passed on."""
    return {
        "PATH": search_path,
        "HOME": own.get("HOME", "/"),
        "TMPDIR": temporary,
        "HOSTNAME": hostname,
        **{name: own[name] for name in _LOCALE if name in own},
    }
