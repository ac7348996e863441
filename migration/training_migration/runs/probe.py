"""A test of the wiring without any training: the program of each pod is replaced by one that looks for the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final

from training_migration.choices import PROBE_SECONDS
from training_migration.runs.inside.probe import MARKER
from training_migration.runs.marked_lines import marked
from training_migration.runs.templates import changed, is_runtime, is_train_job
from training_migration.runs.witness import Mark
from training_migration.v1_job import is_v1_job

Json = dict[str, Any]

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "PyTorchJob": ("RANK",),
    "XGBoostJob": ("RANK",),
    "JAXJob": ("COORDINATOR",),
    "TFJob": ("TF_CONFIG",),
    "PaddleJob": ("PADDLE",),
    "MPIJob": ("MPI",),
}
"""Kind of v1 -> what a script written for v1 reads its rank from, as `inside.probe.READERS` calls it."""
OF_V2: Final[Mapping[str, tuple[str, ...]]] = {"XGBoostJob": ("DMLC",), "JAXJob": ("JAX",)}
"""What a script that was changed for v2 reads instead."""
"""How long pods wait for each other."""

_SHELL: Final = """for python in python3 python; do
  if command -v $python >/dev/null 2>&1; then exec $python -c "$@"; fi
done
echo 'training-probe: {"ok": false, "rank": null, "why": "the image has no Python"}' >&2
exit 75"""
"""Looks for a Python; its arguments are the program and what it is given."""
_EXEC: Final = "exec "


def names_for(kind: str, *, torchrun: bool | None, changed_scripts: bool) -> tuple[str, ...]:
    """What the ranks of a job are read from; `torchrun` says whether that starts it, None that this is not known.

    Torchrun reads variables of its own and gives the script RANK.
    """
    if kind == "PyTorchJob":
        return ("RANK", "PET") if torchrun is None else ("PET",) if torchrun else ("RANK",)
    return (NAMES[kind] + OF_V2.get(kind, ())) if changed_scripts else NAMES[kind]


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """What pods are asked to test."""

    names: tuple[str, ...]
    """What they read their rank from, as `inside.probe.READERS` calls it; the first that is there counts."""
    hosts: tuple[str, ...]
    """Under which names all pods should be found."""
    seconds: float = PROBE_SECONDS

    @property
    def command(self) -> list[str]:
        """The command line that takes the place of the training program."""
        program = files("training_migration.runs.inside").joinpath("probe.py").read_text(encoding="utf-8")
        given = {"names": list(self.names), "hosts": list(self.hosts), "seconds": self.seconds}
        return ["sh", "-c", _SHELL, "probe", program, json.dumps(given)]


def with_probe(objects: Sequence[Json], plan: ProbePlan, containers: Mapping[str, str]) -> list[Json]:
    """Copies of the objects whose training containers, by role, start the probe; MPI's workers go on as they are."""
    command = plan.command

    def change(role: str, template: Json) -> None:
        if plan.names == ("MPI",) and role != "launcher":
            return
        for container in template["spec"]["containers"]:
            if container["name"] == containers.get(role):
                _replace(container, command)

    copies = changed(objects, change)
    for each in copies:
        _try_once(each)
        if is_train_job(each) and (trainer := each["spec"].get("trainer")) and {"command", "args"} & trainer.keys():
            _replace(trainer, command)
    return copies


def _try_once(obj: Json) -> None:
    """Let the first failure of a pod be the end, and its pods stay."""
    if is_v1_job(obj):
        obj["spec"]["runPolicy"] = {**(obj["spec"].get("runPolicy") or {}), "cleanPodPolicy": "None"}
        for field, replicas in obj["spec"].items():
            if field.endswith("ReplicaSpecs"):
                for replica in replicas.values():
                    replica["restartPolicy"] = "Never"
    elif is_runtime(obj):
        for each in obj["spec"]["template"]["spec"].get("replicatedJobs") or ():
            job = each["template"]["spec"]
            job.pop("podFailurePolicy", None)
            job["backoffLimit"] = 0
            job["template"]["spec"]["restartPolicy"] = "Never"


def _replace(container: Json, command: Sequence[str]) -> None:
    """Start the probe instead of the program; what a shell exports before it `exec`s the program is kept."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    container.pop("args", None)
    container["command"] = list(command)
    if len(words) > 2 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1] == "-c":
        kept, last, started = words[2].rstrip().rpartition(f"\n{_EXEC}")
        # Either the script names the program, or it starts the one among its own arguments.
        if last and (len(words) == 3 or started.startswith('"$@"')):
            container["command"] = [*words[:2], f'{kept}\n{_EXEC}"$@"', *(words[3:4] or ["probe"]), *command]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one pod has found out."""

    ok: bool
    why: str
    """Why not, in a few words."""
    rank: int | None
    world_size: int | None
    read_from: str
    coordinator: str
    host: str
    heard: tuple[int, ...]
    """Ranks that it heard from."""
    name_seconds: tuple[tuple[str, float | None], ...]
    """Name of each pod -> after how long it had an address; None: never."""
    variables: tuple[tuple[str, str], ...]
    time: float
    entered: tuple[str, ...]
    """By the launcher of MPI, which has no rank of its own: the hosts on which it can start programs."""


def results(lines: Iterable[str]) -> list[ProbeResult]:
    """What the probe has written among the lines of a log; broken lines are left out."""
    return [_result(entry) for entry in marked(lines, MARKER) if "ok" in entry]


def probe_marks(lines: Iterable[str]) -> list[Mark]:
    """The results as the witness would report them: a pod that knows its rank has met those that it heard from."""
    found = []
    for each in results(lines):
        if each.entered:
            ranks = [(host, rank) for rank, host in enumerate(each.entered)]
            found += [Mark(met=True, time=each.time, rank=r, world_size=len(ranks), host=host) for host, r in ranks]
            continue
        mark = Mark(each.rank is not None, each.time, each.rank, each.world_size, host=each.host, peers=each.heard)
        found.append(replace(mark, variables=each.variables))
    return found


def _result(entry: Json) -> ProbeResult:
    return ProbeResult(
        ok=bool(entry["ok"]),
        why=str(entry.get("why", "")),
        rank=entry.get("rank"),
        world_size=entry.get("worldSize"),
        read_from=str(entry.get("by", "")),
        coordinator=str(entry.get("coordinator", "")),
        host=str(entry.get("host", "")),
        heard=tuple(entry.get("heard", ())),
        name_seconds=tuple(sorted(entry.get("nameSeconds", {}).items())),
        variables=tuple(sorted(entry.get("variables", {}).items())),
        time=float(entry.get("time", 0)),
        entered=tuple(entry.get("entered", ())),
    )
