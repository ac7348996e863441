"""The Python that pods find as `python`: where it is looked for, and what is installed in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from training_controllers.frameworks.plugins import kinds
from training_local.errors import BadInput
from training_local.node import tools
from training_local.node.pod_python import PythonChoice

MODULES: Final[Mapping[str, str]] = {
    "jax": "jax",
    "pytorch": "torch",
    "tensorflow": "tensorflow",
    "xgboost": "xgboost",
    "mpi": "mpi4py",
    "paddle": "paddle",
}
"""Container that trains -> module of its framework."""
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
    def description(self) -> str:
        """The interpreter with the versions."""
        frameworks = ", ".join(f"{module} {version}".rstrip() for module, version in self.modules.items())
        return f"{self}: Python {self.version or '?'} with {frameworks or 'no framework'}"

    @property
    def sentence(self) -> str:
        """What pods get."""
        return f"Pods run {self.description}."

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


def modules_of(kind: str) -> Sequence[str]:
    """The module that pods of this kind of job need; where that is not known, any framework's will do."""
    info = kinds().get(kind)
    module = MODULES.get(info.container) if info else None
    return [module] if module else [*PACKAGES]


class Pythons:
    """The Python of pods in a cluster for any job: by the kind of their job, unless `--python` names one for all."""

    def __init__(self, option: Path | None, environment: Mapping[str, str]) -> None:
        """Raise `BadInput` if `option` is no interpreter."""
        self._option, self._environment = option, environment
        self._found: dict[str, Python] = {}
        self.default: Final = self.of_kind("")
        """That of pods of no job, or of one whose framework is not known."""

    def of_kind(self, kind: str) -> Python:
        """Return the Python of the pods of this kind of job."""
        if kind not in self._found:
            self._found[kind] = choose(self._option, modules_of(kind), self._environment)
        return self._found[kind]

    def choice(self, kind: str) -> PythonChoice:
        """Return the same for a node, with what it says of it."""
        python, modules = self.of_kind(kind), modules_of(kind)
        if not python.modules and len(modules) == 1:
            looked = [python] if self._option else known_pythons(self._environment, modules)
            where = ", ".join(str(each.path) for each in looked)
            remark = f"No module {modules[0]}, which a {kind} needs, in {where}: use --python for one that has it"
            return PythonChoice(python.path, remark, lacking=True)
        usual = python.path == self.default.path
        return PythonChoice(python.path, "" if usual else f"Pods of a {kind} run {python.description}")

    def sentences(self) -> list[str]:
        """What pods get, and those of which kinds get something else."""
        others: dict[Path, list[str]] = {}
        for kind in kinds():
            if (path := self.of_kind(kind).path) != self.default.path:
                others.setdefault(path, []).append(kind)
        different = (
            f"Those of {' and '.join(each)} run {self._of_kinds(each).description}." for each in others.values()
        )
        return [self.default.sentence, *different]

    def _of_kinds(self, kinds_of_one: Sequence[str]) -> Python:
        """Return a Python with what all of these kinds find in it."""
        found = [self.of_kind(kind) for kind in kinds_of_one]
        return replace(found[0], modules={name: each.modules[name] for each in found for name in each.modules})


def _probed(path: Path, source: str, modules: Sequence[str]) -> Python:
    asked = {**PACKAGES, **{module: () for module in modules if module not in PACKAGES}}
    executable, version, found = _answer(path, json.dumps(asked))
    return Python(executable, source, version, {name: found[name] for name in found if name in modules})


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
