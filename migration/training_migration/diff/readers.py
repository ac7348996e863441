"""Who reads the environment in jobs of each kind; the kinds differ here and nowhere else in what variables mean."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from training_api.yaml_text import json_value
from training_migration.convert.launchers import Launcher
from training_migration.diff.torchrun import TORCHRUN
from training_migration.diff.wiring import Fact, Reader, Role, View, Vocabulary, Wiring
from training_migration.v2.names import SET_BY_POLICY

SCRIPT: Final = Vocabulary(
    "a script without launcher",
    host="MASTER_ADDR",
    port="MASTER_PORT",
    rank="RANK",
    size="WORLD_SIZE",
    one_process=True,
).as_reader()
XGBOOST: Final = Vocabulary(
    "the script",
    host="MASTER_ADDR",
    port="MASTER_PORT",
    rank="RANK",
    size="WORLD_SIZE",
    peers="WORKER_ADDRS",
    settings=("WORKER_PORT",),
).as_reader()
JAX: Final = Vocabulary(
    "the script", host="COORDINATOR_ADDRESS", port="COORDINATOR_PORT", rank="PROCESS_ID", size="NUM_PROCESSES"
).as_reader()
PADDLE: Final = Vocabulary(
    "paddle.distributed.launch",
    endpoint="PADDLE_MASTER",
    size="PADDLE_NNODES",
    settings=("PADDLE_JOB_ID", "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"),
).as_reader()
HOSTFILE: Final = "hostfile"


def _tf_config(view: View) -> Wiring:
    text = view.environment.get("TF_CONFIG", "")
    if not text:
        return Wiring(alone=True)
    try:
        config = json_value(text)
        cluster = tuple(sorted((role, _members(view, members)) for role, members in config["cluster"].items()))
        task = config["task"]["type"], str(config["task"]["index"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return Wiring({Role.CLUSTER: Fact(text, ("unreadable", text), ("TF_CONFIG",))}, alone=True)
    size = sum(len(members) for _, members in cluster)
    return Wiring(
        {
            Role.CLUSTER: Fact(text, cluster, ("TF_CONFIG",)),
            Role.RANK: Fact(f"{task[0]} {task[1]}", task, ("TF_CONFIG",)),
            Role.SIZE: Fact(str(size), size, ("TF_CONFIG",)),
        }
    )


def _members(view: View, members: Any) -> tuple[Hashable, ...]:
    """The pods of a role in their order; a sparse cluster names them by index."""
    if isinstance(members, dict):
        return tuple((index, view.who(str(each).rpartition(":")[0])) for index, each in sorted(members.items()))
    return tuple(view.who(str(each).rpartition(":")[0]) for each in members or ())


TENSORFLOW: Final = Reader("TensorFlow", _tf_config, frozenset({"TF_CONFIG"}))


def _hosts(view: View) -> Wiring:
    """The launcher's list of hosts; workers learn nothing, they are entered."""
    if view.place.role != "launcher":
        return Wiring()
    text = view.side.file(HOSTFILE)
    if not text:
        return Wiring(alone=True)
    lines = [(fields[0], _slots(fields)) for line in text.splitlines() if (fields := line.split())]
    entered = view.side.entered
    who = [view.numbers.get(entered[host]) if host in entered else view.who(host) for host, _ in lines]
    slots = [count for _, count in lines]
    hosts = tuple(sorted(zip(who, slots, strict=True), key=repr))
    facts = {
        Role.PEERS: Fact(", ".join(host for host, _ in lines), hosts, (HOSTFILE,)),
        Role.LOCAL: Fact(", ".join(sorted(set(slots))), tuple(sorted(slots)), (HOSTFILE,)),
        Role.SIZE: Fact(str(_total(slots)), _total(slots), (HOSTFILE,)),
    }
    if lines:
        facts[Role.RANK] = Fact(f"rank 0 is on {lines[0][0]}", who[0], (HOSTFILE,))
    return Wiring(facts)


def _slots(fields: list[str]) -> str:
    return next((field.removeprefix("slots=") for field in fields if field.startswith("slots=")), "1")


def _total(slots: list[str]) -> int:
    return sum(int(count) for count in slots if count.isdecimal())


MPI_NAMES: Final = ("OMPI_MCA_", "PRTE_MCA_", "I_MPI_")
MPI: Final = Reader("mpirun", _hosts, frozenset(), native=True)

PROGRAM: Final = Reader("the program", lambda _view: Wiring(), frozenset())
"""Of a kind of another package: what it reads is not known, so every variable counts."""

_ONE: Final[Mapping[str, Reader]] = {
    "XGBoostJob": XGBOOST,
    "JAXJob": JAX,
    "PaddleJob": PADDLE,
    "TFJob": TENSORFLOW,
    "MPIJob": MPI,
}


def readers(kind: str, launcher: Launcher) -> tuple[Reader, ...]:
    """Who may read the variables in a job of this v1 kind with this launcher; several where that is not known."""
    if kind != "PyTorchJob":
        return (_ONE.get(kind, PROGRAM),)
    if launcher.sets_ranks:
        return (TORCHRUN,)
    return (SCRIPT,) if launcher is Launcher.PYTHON else (SCRIPT, TORCHRUN)


def carriers(kind: str) -> frozenset[str]:
    """All variables by which programs of this kind may learn of their peers, on either side."""
    return frozenset(_carriers(kind))


def _carriers(kind: str) -> Iterator[str]:
    for reader in (SCRIPT, TORCHRUN) if kind == "PyTorchJob" else (_ONE.get(kind, PROGRAM),):
        yield from reader.carriers | reader.settings
    yield from V2_OWN.get(kind, ())


V2_OWN: Final = {"JAXJob": SET_BY_POLICY["jax"], "XGBoostJob": SET_BY_POLICY["xgboost"]}
"""What v2's policies set under other names than v1 did: a script has to be changed to read them."""
