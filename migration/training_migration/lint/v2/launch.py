"""How the processes of a TrainJob are started, and what they find in their environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from training_migration.convert.launchers import Launcher, words
from training_migration.findings import Severity
from training_migration.lint import pods
from training_migration.lint.checks import Spot
from training_migration.lint.scripts.assigned import RANKS, assigned
from training_migration.lint.v2.subject import PLAIN, TRAIN_JOBS, TrainJob
from training_migration.lint.variables import FIXED_PORT
from training_migration.v2.names import FRAMEWORK, RESERVED, SET_BY_POLICY

_ONE_NODE: Final = re.compile(r"--standalone\b|--nnodes[= ]1(?::1)?(?=\s|$)")
_SEVERAL_NODES: Final = re.compile(r"--nnodes\b")
_LATE: Final = re.compile(r"\$\((PET_\w+|DMLC_\w+|JAX_\w+|JOB_COMPLETION_INDEX)\)")


@TRAIN_JOBS.rule("MIG101")
def no_launcher(job: TrainJob) -> Iterator[Spot]:
    """PyTorch without a launcher and without v1's variables, or with a launcher that stays on its node."""
    if job.policy != "torch" and not (job.policy == PLAIN and _is_torch(job)):
        return
    if job.launcher is Launcher.PYTHON:
        reason = _alone_by_python(job)
    elif job.launcher is Launcher.TORCHRUN and job.num_nodes > 1:
        reason = _alone_by_torchrun(job)
    else:
        reason = ""
    if reason and job.num_nodes > 1:
        yield Spot(f"{reason}: each of the {job.num_nodes} nodes trains alone.", job.command_path)
    elif reason:
        yield Spot(f"{reason}.", job.command_path, severity=Severity.WARNING)


def _is_torch(job: TrainJob) -> bool:
    """Whether a job of a runtime without a policy trains with PyTorch: by label, image, or the script that it runs."""
    metadata = job.runtime.object.get("metadata") or {} if job.runtime else {}
    if (metadata.get("labels") or {}).get(FRAMEWORK) == "torch" or job.launcher is Launcher.TORCHRUN:
        return True
    used = (code for path, code in job.scripts if pods.runs(job.container, path))
    return any(re.search(r"^\s*(?:import|from) torch\b", code, re.MULTILINE) for code in used)


def _alone_by_torchrun(job: TrainJob) -> str:
    """Why torchrun forms a world on each node; empty if it does not."""
    text = " ".join(words(job.container))
    if flag := _ONE_NODE.search(text):
        return f"{flag[0].strip()} keeps torchrun on its node"
    configured = _SEVERAL_NODES.search(text) or "PET_NNODES" in (*pods.env_names(job.container), *assigned([text], ()))
    if job.policy == PLAIN and not configured and not job.scripts:
        return "the runtime has no torch policy, so torchrun is not configured with the other nodes"
    return ""


def _alone_by_python(job: TrainJob) -> str:
    """Why nodes that python starts do not find each other; empty if they do."""
    reason = _missing_ranks(job)
    return f"python does not read PET_*, and {reason}" if reason else ""


def _missing_ranks(job: TrainJob) -> str:
    """What is wrong with the variables that PyTorch needs; empty if nothing is."""
    set_there = assigned(words(job.container), job.scripts)
    if missing := [name for name in RANKS if name not in {*pods.env_names(job.container), *set_there}]:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
    if "RANK" not in set_there and pods.env_value(job.container, "RANK") is not None and job.num_nodes > 1:
        return "RANK is the same on every node"
    size = pods.env_value(job.container, "WORLD_SIZE")
    if "WORLD_SIZE" not in set_there and str(size).isdecimal() and int(str(size)) < job.num_nodes:
        return f"WORLD_SIZE is {size}"
    return ""


@TRAIN_JOBS.rule("MIG104")
def reserved_variable(job: TrainJob) -> Iterator[Spot]:
    """A variable that admission rejects."""
    if job.policy == "mpi" and not job.features.rejects_mpi_env:
        return
    for at, name in enumerate(pods.env_names(job.trainer)):
        if name in RESERVED.get(job.policy, ()):
            yield Spot(f"v2 sets {name} itself and rejects it here.", f"spec.trainer.env[{at}]")


@TRAIN_JOBS.rule("MIG105")
def overriding_variable(job: TrainJob) -> Iterator[Spot]:
    """A variable of the jax policy that the TrainJob replaces."""
    if job.policy == "jax":
        for at, name in enumerate(pods.env_names(job.trainer)):
            if name in SET_BY_POLICY["jax"]:
                yield Spot(f"this {name} takes the place of the one that v2 sets.", f"spec.trainer.env[{at}]")


@TRAIN_JOBS.rule("MIG109")
def uncounted_processes(job: TrainJob) -> Iterator[Spot]:
    """Torch on CPUs without a number of processes."""
    if job.policy != "torch" or job.trainer.get("numProcPerNode") or "trainer" not in job.spec:
        return
    plain_python = job.launcher is Launcher.PYTHON
    if not plain_python and not pods.gpus(job.node) and not pods.other_accelerators(job.node):
        cpus = pods.resources(job.node).get("cpu")
        number = f"the {cpus} CPUs that are requested" if cpus else "1, because no CPU is requested"
        yield Spot(f"the number of processes for each node is {number}.", "spec.trainer.numProcPerNode")


@TRAIN_JOBS.rule("MIG110")
def unseen_accelerator(job: TrainJob) -> Iterator[Spot]:
    """An accelerator that v2 does not count."""
    if job.policy in ("torch", "xgboost", "mpi") and not job.trainer.get("numProcPerNode"):
        for name in pods.other_accelerators(job.node):
            message = f"v2 does not take {name} for a GPU and counts CPUs for the number of processes."
            yield Spot(message, "spec.trainer.numProcPerNode")


@TRAIN_JOBS.rule("MIG111")
def processes_without_launcher(job: TrainJob) -> Iterator[Spot]:
    """Several processes for each node, which python does not start."""
    number = job.trainer.get("numProcPerNode")
    if job.policy == "torch" and isinstance(number, int) and number > 1 and job.launcher is Launcher.PYTHON:
        yield Spot(f"numProcPerNode is {number}, but python starts one process.", "spec.trainer.numProcPerNode")


@TRAIN_JOBS.rule("MIG112")
def unknown_launcher(job: TrainJob) -> Iterator[Spot]:
    """A command that is not there or not known."""
    if job.policy not in ("torch", "mpi"):
        return
    if job.launcher is Launcher.ABSENT:
        yield Spot("there is no command: the image decides what starts the training.", "spec.trainer")
    elif job.launcher is Launcher.UNKNOWN:
        yield Spot("it is not known what this command starts.", job.command_path)


@TRAIN_JOBS.rule("MIG113")
def mixed_command(job: TrainJob) -> Iterator[Spot]:
    """A command of the TrainJob with arguments of the runtime, or the reverse."""
    trainer = job.runtime.trainer if job.runtime else None
    if trainer is None:
        return
    for ours, theirs in (("command", "args"), ("args", "command")):
        if job.trainer.get(ours) and not job.trainer.get(theirs) and trainer.container.get(theirs):
            message = f"only {ours} is given: {theirs} are those of the runtime."
            # A runtime's program with other arguments is what a shared runtime is for.
            severity = Severity.INFO if ours == "args" else None
            yield Spot(message, f"spec.trainer.{ours}", severity=severity)


@TRAIN_JOBS.rule("MIG114")
def late_variable(job: TrainJob) -> Iterator[Spot]:
    """A value that refers to a variable which comes later."""
    for at, variable in enumerate(job.trainer.get("env") or ()):
        if found := _LATE.search(str(variable.get("value") or "")):
            yield Spot(f"{found[0]} stays as it is: {found[1]} is set later.", f"spec.trainer.env[{at}]")


@TRAIN_JOBS.rule("MIG115")
def other_launcher(job: TrainJob) -> Iterator[Spot]:
    """A launcher that reads variables of its own."""
    if job.launcher.needs_check and job.policy in ("torch", "mpi", PLAIN):
        yield Spot(
            f"{job.launcher} finds its nodes in its own way: check what it reads.",
            job.command_path,
        )


@TRAIN_JOBS.rule("MIG501")
def no_trainer(job: TrainJob) -> Iterator[Spot]:
    """A TrainJob without `trainer`."""
    if job.policy in FIXED_PORT and job.spec.get("trainer") is None:
        message = f"there is no trainer: the policy {job.policy} sets no variables, and every node is alone."
        yield Spot(message, "spec")
