"""A witness of ranks: a module that each Python program of a job loads at its start, and the lines that it writes.

It takes no part in the training and does not change the user's image: a config map brings it, PYTHONPATH makes Python
load it. It does not see programs in other languages, and not `python -S` or `-I`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from training_migration.runs.inside.sitecustomize import MARKER
from training_migration.runs.marked_lines import marked
from training_migration.runs.templates import changed, is_train_job, mount, set_variable

Json = dict[str, Any]

NAME: Final = "training-witness"
"""Of the config map and the volume."""
FOLDER: Final = "/etc/training-witness"
SWITCH: Final = "TRAINING_WITNESS"
OWN_PATH: Final = "TRAINING_WITNESS_PYTHONPATH"
"""What PYTHONPATH was, where it came from elsewhere than a literal."""
MPIRUN: Final = ("mpirun", "mpiexec", "orterun")


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of the witness."""

    met: bool
    """Whether the framework was initialised; else the program ended without that."""
    time: float
    """Seconds since 1970, by the clock of the pod's machine."""
    rank: int | None = None
    world_size: int | None = None
    local_rank: int | None = None
    group: str = ""
    backend: str = ""
    host: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    """Those of the process by which ranks find each other."""
    peers: tuple[int, ...] | None = None
    """Ranks that it heard from, where that was observed."""


def with_witness(objects: Sequence[Json], namespace: str) -> list[Json]:
    """Copies of the objects in whose pods the witness looks, the config map that brings it before them."""
    source = files("training_migration.runs.inside").joinpath("sitecustomize.py").read_text(encoding="utf-8")
    metadata = {"name": NAME, "namespace": namespace}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"sitecustomize.py": source}}
    copies = changed(objects, _add)
    for each in copies:
        if is_train_job(each) and (trainer := each["spec"].get("trainer")):
            _forward(trainer)
            if any(variable["name"] == "PYTHONPATH" for variable in trainer.get("env") or ()):
                _extend(trainer)
    return [config_map, *copies]


def _add(_role: str, template: Json) -> None:
    mount(template, NAME, FOLDER)
    for container in template["spec"]["containers"]:
        _extend(container)
        _forward(container)


def _extend(container: Json) -> None:
    """Put the folder of the witness before what the container's own PYTHONPATH says."""
    path = FOLDER
    for variable in container.get("env") or ():
        if variable["name"] == "PYTHONPATH":
            variable["name"] = OWN_PATH
            path = f"{FOLDER}:$({OWN_PATH})"
    set_variable(container, "PYTHONPATH", path)
    set_variable(container, SWITCH, "1")


def _forward(container: Json) -> None:
    """Let mpirun hand the variables on to the ranks that it starts in other pods."""
    for field in ("command", "args"):
        words = container.get(field) or []
        for at, word in enumerate(words):
            if str(word).rpartition("/")[2] in MPIRUN:
                container[field] = [*words[: at + 1], "-x", "PYTHONPATH", "-x", SWITCH, *words[at + 1 :]]
                return


def marks(lines: Iterable[str]) -> list[Mark]:
    """What the witness has written among the lines of a log; broken lines are left out."""
    return [_mark(entry) for entry in marked(lines, MARKER) if "event" in entry]


def _mark(entry: Json) -> Mark:
    return Mark(
        met=entry["event"] == "met",
        time=float(entry.get("time", 0)),
        rank=entry.get("rank"),
        world_size=entry.get("worldSize"),
        local_rank=entry.get("localRank"),
        group=str(entry.get("group", "")),
        backend=str(entry.get("backend", "")),
        host=str(entry.get("host", "")),
        variables=tuple(sorted(entry.get("variables", {}).items())),
    )
