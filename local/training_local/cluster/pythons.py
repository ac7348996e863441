"""The Python that pods find as `python`: where it is looked for, and what is installed in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from training_local.errors import BadInput
from training_local.node import tools

PACKAGES: Final[Mapping[str, Sequence[str]]] = {
    "torch": ("torch",),
    "jax": ("jax",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "paddle": ("paddlepaddle",),
    "mpi4py": ("mpi4py",),
}
"""Modules of frameworks, and the packages that have them."""
_PROBE: Final = """\
import importlib.metadata as metadata, importlib.util, json, platform, sys
found = {}
for module, packages in json.loads(sys.argv[1]).items():
    if importlib.util.find_spec(module) is None:
        continue
    found[module] = ""
    for package in packages:
        try:
            found[module] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
print(json.dumps([sys.executable, platform.python_version(), found]))
"""
_PROBE_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, who has named it, and what can be imported in it."""

    path: Path
    source: str
    version: str = ""
    """Empty if it cannot be run."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Module of a framework -> version."""

    def __str__(self) -> str:
        return f"{self.path} ({self.source})"

    @property
    def sentence(self) -> str:
        """What pods get, with the versions."""
        frameworks = ", ".join(f"{module} {version}".rstrip() for module, version in self.modules.items())
        return f"Pods run {self}: Python {self.version or '?'} with {frameworks or 'no framework'}."

    @property
    def own_packages(self) -> bool:
        """Whether packages may be installed into it, as into a virtual environment."""
        return (self.path.parent.parent / "pyvenv.cfg").exists() or (self.path.parent.parent / "conda-meta").exists()


def interpreter(path: Path) -> Path:
    """Return the interpreter `path`, or the one in the virtual environment `path`; `BadInput` if there is none."""
    try:
        return tools.interpreter(path.expanduser().absolute())
    except ValueError as error:
        raise BadInput(f"--python {error}") from None


def choose(option: Path | None, modules: Sequence[str], environment: Mapping[str, str], named: str = "") -> Python:
    """Return the first Python with one of `modules`, else the first there is.

    `option` is what `--python` names, `named` what the job's annotation does; either of them is taken as it is.
    """
    if option is not None:
        return _probed(interpreter(option), "--python", modules)
    if named:
        return _probed(interpreter(Path(named)), "the job's annotation", modules)
    every = known_pythons(environment, modules)
    first = next(every)
    return first if first.modules else next((other for other in every if other.modules), first)


def known_pythons(environment: Mapping[str, str], modules: Sequence[str]) -> Iterator[Python]:
    """Yield what a user may mean, the likeliest first; each is asked for `modules` when its turn comes."""
    places = (
        *((environment.get(name), f"${name}") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")),
        (shutil.which("python3", path=environment.get("PATH", os.defpath)), "python3 on the path"),
        (sys.executable, "the one of this program"),
        ("/usr/bin/python3", "the one of the system"),
    )
    seen = set()
    for place, source in places:
        try:
            path = tools.interpreter(Path(place or ""))
        except ValueError:  # a variable that has outlived its folder
            continue
        if path not in seen:
            seen.add(path)
            yield _probed(path, source, modules)


def _probed(path: Path, source: str, modules: Sequence[str]) -> Python:
    asked = json.dumps({module: PACKAGES.get(module, ()) for module in modules})
    executable, version, found = _answer(path, asked)
    return Python(executable, source, version, found)


@cache
def _answer(path: Path, asked: str) -> tuple[Path, str, Mapping[str, str]]:
    """What an interpreter says of itself; asked once, since behind the shim of a version manager it takes long."""
    try:
        done = subprocess.run(
            [path, "-c", _PROBE, asked], check=True, capture_output=True, timeout=_PROBE_SECONDS, cwd="/"
        )
        executable, version, found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return path, "", {}
    return Path(executable), version, found  # another path than that of a shim
