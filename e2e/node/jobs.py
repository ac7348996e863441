"""Jobs whose replicas meet, fail and give up, for each kind, as users would write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS
from e2e.node.images import HOST

PROGRAMS: Final = Path(__file__).parent / "programs"
CONFIG_MAP: Final = "programs"
LAUNCH: Final = ("sh", "/programs/launch.sh")

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """How jobs of one kind are written."""

    name: str
    world: Mapping[str, int]
    """Replicas by type of a job whose replicas meet."""
    pair: Mapping[str, int]
    """The same of a job of which one type fails first."""
    failing: str
    """That type."""
    met: tuple[str, ...]
    """What the meeting of `world` must have seen."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the spec."""

    @property
    def plural(self) -> str:
        """The kind in paths."""
        return PLURALS[self.name]

    @property
    def replicas_field(self) -> str:
        """Where the spec has the replicas."""
        return REPLICAS[self.name]

    def command(self, replica_type: str) -> Command | None:
        """What replicas of a type run in order to meet."""
        if self.name != "MPIJob":
            return ("python3", "/programs/meet.py", self.name)
        return LAUNCH if replica_type == "Launcher" else None

    def job(self, name: str, replicas: Mapping[str, dict[str, Any]], **run_policy: Any) -> dict[str, Any]:
        """An object of this kind."""
        return {
            "apiVersion": "kubeflow.org/v1",
            "kind": self.name,
            "metadata": {"name": name},
            "spec": {**self.settings, self.replicas_field: dict(replicas), "runPolicy": run_policy},
        }

    def replica(self, count: int, command: Command | None, policy: str | None = None) -> dict[str, Any]:
        """A replica spec; without `policy` the kind's own applies."""
        container: dict[str, Any] = {"name": CONTAINERS[self.name], "image": HOST, "volumeMounts": MOUNTS}
        if command:
            container["command"] = list(command)
        pod = {"containers": [container], "volumes": VOLUMES, "terminationGracePeriodSeconds": 1}
        replica = {"replicas": count, "template": {"spec": pod}}
        return {**replica, "restartPolicy": policy} if policy else replica


MOUNTS: Final = [
    {"name": "usr", "mountPath": "/usr", "readOnly": True},
    {"name": "programs", "mountPath": "/programs"},
    {"name": "shared", "mountPath": "/shared"},
]
VOLUMES: Final = [
    {"name": "usr", "hostPath": {"path": "/usr"}},
    {"name": "programs", "configMap": {"name": CONFIG_MAP}},
    {"name": "shared", "hostPath": {"path": "/mnt"}},
]

KINDS: Final = (
    Kind("PyTorchJob", {"Master": 1, "Worker": 2}, {"Master": 1, "Worker": 1}, "Worker", ("0/3", "1/3", "2/3")),
    Kind(
        "TFJob",
        {"PS": 1, "Worker": 2, "Chief": 1},
        {"Chief": 1, "Worker": 1},
        "Worker",
        ("chief/0", "ps/0", "worker/0", "worker/1"),
    ),
    Kind("XGBoostJob", {"Master": 1, "Worker": 2}, {"Master": 1, "Worker": 1}, "Worker", ("0/3", "1/3", "2/3")),
    Kind(
        "MPIJob",
        {"Launcher": 1, "Worker": 2},
        {"Launcher": 1, "Worker": 1},
        "Launcher",
        tuple(f"{rank}/4@mpijob-meet-worker-{rank // 2}" for rank in range(4)),
        {"slotsPerWorker": 2},
    ),
    Kind(
        "PaddleJob",
        {"Worker": 3},
        {"Master": 1, "Worker": 1},
        "Worker",
        tuple(f"paddlejob-meet-worker-{index}" for index in range(3)),
    ),
    Kind("JAXJob", {"Worker": 3}, {"Worker": 2}, "Worker", ("0/3", "1/3", "2/3")),
)


def meeting(kind: Kind) -> dict[str, Any]:
    """A job that succeeds if all its replicas meet."""
    replicas = {t: kind.replica(n, kind.command(t)) for t, n in kind.world.items()}
    return kind.job(f"{kind.name.lower()}-meet", replicas)


def trying_twice(kind: Kind, name: str, first: Command, policy: str | None = None) -> dict[str, Any]:
    """A job of which the replicas of one type run `first` at first, and meet the others at the second attempt.

    `name` must differ from those of all other jobs on the node: attempts are told apart by the names of pods.
    """

    def replica(replica_type: str, count: int) -> dict[str, Any]:
        command = kind.command(replica_type)
        if replica_type != kind.failing:
            # No pod ends before the kubelet has reported the second attempt, which it does once a second.
            return kind.replica(count, command and ("sh", "-c", '"$@" && sleep 4', "sh", *command))
        return kind.replica(count, ("python3", "/programs/first.py", *first, "--", *(command or ())), policy)

    return kind.job(f"{kind.name.lower()}-{name}", {t: replica(t, n) for t, n in kind.pair.items()})


def giving_up(kind: Kind) -> dict[str, Any]:
    """A job that fails again and again until its backoff limit."""
    decisive = next(t for t in ("Master", "Launcher", "Worker") if t in kind.pair)
    replicas = {decisive: kind.replica(1, ("false",), "OnFailure")}
    return kind.job(f"{kind.name.lower()}-gives-up", replicas, backoffLimit=1)


def programs() -> dict[str, Any]:
    """The config map with what the replicas run."""
    return {
        "metadata": {"name": CONFIG_MAP},
        "data": {file.name: file.read_text() for file in sorted(PROGRAMS.iterdir()) if file.is_file()},
    }
