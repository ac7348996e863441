"""How the processes are started, and what they find in their environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from training_migration.convert.elasticity import names_processes, names_rendezvous
from training_migration.convert.launchers import Launcher, words
from training_migration.findings import Severity
from training_migration.lint import pods
from training_migration.lint.checks import Spot
from training_migration.lint.scripts.assigned import RANKS, assigned
from training_migration.lint.v1.subject import V1, Role, Subject
from training_migration.lint.variables import POLICY_OF, UNBUFFERED, WORLD, set_by_v1
from training_migration.v2.names import RESERVED, SET_BY_POLICY

_PYTORCH: Final = "PyTorchJob"
_COUNTED: Final = frozenset({"auto", "cpu", "gpu"})


@V1.rule("MIG101")
def no_launcher(subject: Subject) -> Iterator[Spot]:
    """PyTorch started by Python itself: it has its rank from v1's variables."""
    if subject.kind != _PYTORCH or not subject.has_master:
        return
    for role, launcher in subject.launchers:
        if launcher is Launcher.PYTHON and not assigned(words(role.container), subject.scripts).issuperset(RANKS):
            path = f"{role.main_path}.{pods.command_field(role.container)}"
            if subject.size > 1:
                message = (
                    "python reads rank and world size from variables that v2 does not set: every node trains alone."
                )
                yield Spot(message, path)
            else:
                message = "python reads rank and world size from variables that v2 does not set."
                yield Spot(message, path, severity=Severity.WARNING)


@V1.rule("MIG104")
def reserved_variable(subject: Subject) -> Iterator[Spot]:
    """A variable of the template that a TrainJob may not name."""
    policy = POLICY_OF.get(subject.kind, "")
    if policy == "mpi" and not subject.features.rejects_mpi_env:
        return
    yield from _variables(subject, RESERVED.get(policy, ()), "v2 rejects it in trainer.env.")


@V1.rule("MIG105")
def stale_variable(subject: Subject) -> Iterator[Spot]:
    """A variable of the template that v1 replaced."""
    policy = POLICY_OF.get(subject.kind, "")
    names = set_by_v1(subject.kind).union(SET_BY_POLICY.get(policy, ())).difference(RESERVED.get(policy, ()))
    yield from _variables(subject, names, "v1 replaced its value, v2 does not.")


def _variables(subject: Subject, names: Collection[str], comes_of_it: str) -> Iterator[Spot]:
    for role in subject.roles:
        for at, name in enumerate(pods.env_names(role.container)):
            if name in names:
                yield Spot(f"the template sets {name}: {comes_of_it}", f"{role.main_path}.env[{at}]")


@V1.rule("MIG108")
def no_master(subject: Subject) -> Iterator[Spot]:
    """A PyTorchJob of workers only."""
    if subject.kind != _PYTORCH or subject.has_master or subject.spec.elastic_policy is not None:
        return
    if not any(names_rendezvous(role.container) for role in subject.roles):
        message = (
            "without a master v1 sets neither rank nor address; v2 gives every node PET_NODE_RANK and PET_MASTER_ADDR."
        )
        yield Spot(message, f"spec.{subject.info.replica_field}")


@V1.rule("MIG109")
def uncounted_processes(subject: Subject) -> Iterator[Spot]:
    """Processes on CPUs without a number."""
    if subject.kind != _PYTORCH or subject.spec.nproc_per_node not in ("auto", "cpu"):
        return
    for role, launcher in subject.launchers:
        if launcher is Launcher.PYTHON or _has_accelerator(role) or names_processes(role.container):
            continue
        cpus = pods.resources(role.container).get("cpu")
        becomes = f"the {cpus} CPUs that are requested" if cpus else "1, because no CPU is requested"
        message = (
            f"nprocPerNode is {subject.spec.nproc_per_node}: one process for each CPU of the machine becomes {becomes}."
        )
        yield Spot(message, "spec.nprocPerNode")
        return


def _has_accelerator(role: Role) -> bool:
    return pods.gpus(role.container) > 0 or bool(pods.other_accelerators(role.container))


@V1.rule("MIG110")
def unseen_accelerator(subject: Subject) -> Iterator[Spot]:
    """An accelerator that v2 does not count."""
    if subject.kind not in (_PYTORCH, "XGBoostJob", "MPIJob") or _is_number(_processes(subject)):
        return
    for role in subject.roles:
        for name in pods.other_accelerators(role.container):
            message = f"v2 does not take {name} for a GPU and counts CPUs for the number of processes."
            yield Spot(message, f"{role.main_path}.resources")


def _processes(subject: Subject) -> str:
    """The number of processes for each pod that is asked for."""
    if subject.kind == _PYTORCH:
        return str(subject.spec.nproc_per_node or "")
    return str(subject.spec.slots_per_worker or "") if subject.kind == "MPIJob" else ""


def _is_number(text: str) -> bool:
    return text.isdecimal()


@V1.rule("MIG111")
def processes_without_launcher(subject: Subject) -> Iterator[Spot]:
    """Several processes for each pod, which python does not start."""
    if subject.kind != _PYTORCH or not _is_number(_processes(subject)) or int(_processes(subject)) < 2:
        return
    if any(launcher is Launcher.PYTHON for _, launcher in subject.launchers):
        message = f"nprocPerNode is {_processes(subject)}, but python starts one process."
        yield Spot(message, "spec.nprocPerNode")


@V1.rule("MIG112")
def unknown_launcher(subject: Subject) -> Iterator[Spot]:
    """A command that is not there or not known."""
    if subject.kind not in (_PYTORCH, "MPIJob"):
        return
    for role, launcher in subject.launchers:
        if subject.kind == "MPIJob" and role.name != "Launcher":
            continue
        if launcher is Launcher.ABSENT:
            yield Spot("there is no command: the image decides what starts the training.", role.main_path)
        elif launcher is Launcher.UNKNOWN:
            message = "it is not known what this command starts."
            yield Spot(message, f"{role.main_path}.{pods.command_field(role.container)}")


@V1.rule("MIG115")
def other_launcher(subject: Subject) -> Iterator[Spot]:
    """A launcher that reads variables of its own."""
    for role, launcher in subject.launchers:
        if launcher.needs_check:
            message = f"{launcher} finds its nodes in its own way: check what it reads."
            yield Spot(message, f"{role.main_path}.{pods.command_field(role.container)}")


@V1.rule("MIG116")
def buffered(subject: Subject) -> Iterator[Spot]:
    """Output that v1 did not let Python buffer."""
    if subject.kind not in UNBUFFERED:
        return
    if any("PYTHONUNBUFFERED" not in pods.env_names(role.container) for role in subject.roles):
        yield Spot("v1 sets PYTHONUNBUFFERED in these pods, v2 does not.", f"spec.{subject.info.replica_field}")


@V1.rule("MIG117")
def other_names(subject: Subject) -> Iterator[Spot]:
    """Kinds whose programs find each other by v1's variables."""
    if subject.kind not in ("JAXJob", "XGBoostJob", "PaddleJob") or subject.size < 2:
        return
    names = ", ".join(sorted(set_by_v1(subject.kind) & WORLD))
    message = f"v1 sets {names}; v2 does not."
    yield Spot(message, f"spec.{subject.info.replica_field}", severity=Severity.WARNING)
