"""Hosts, ports and containers of runtimes, and the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from training_migration.convert.launchers import words
from training_migration.findings import Severity
from training_migration.lint import pods
from training_migration.lint.checks import Spot
from training_migration.lint.v2.subject import RUNTIMES, TRAIN_JOBS, Runtime, TrainJob
from training_migration.lint.variables import FIXED_PORT


@RUNTIMES.rule("MIG208")
def several_launchers(runtime: Runtime) -> Iterator[Spot]:
    """More than one node in the policy of an MPI runtime that has a launcher."""
    number = (runtime.ml_policy or {}).get("numNodes")
    trainer = runtime.trainer
    if runtime.policy == "mpi" and isinstance(number, int) and number > 1 and trainer and trainer.name == "launcher":
        yield Spot(f"the policy counts launchers: there will be {number}.", "spec.mlPolicy.numNodes")


@RUNTIMES.rule("MIG209")
def other_mpi(runtime: Runtime) -> Iterator[Spot]:
    """Another implementation of MPI."""
    name = runtime.settings.get("mpiImplementation")
    if runtime.policy == "mpi" and name not in (None, "", "OpenMPI"):
        message = f"v2's controller does not support {name}, and makes no pods."
        yield Spot(message, "spec.mlPolicy.mpi.mpiImplementation", severity=Severity.ERROR)


@TRAIN_JOBS.rule("MIG210")
def launcher_alone(job: TrainJob) -> Iterator[Spot]:
    """One node where the launcher is one."""
    if job.policy == "mpi" and job.runtime and job.runtime.settings.get("runLauncherAsNode") and job.num_nodes == 1:
        message = "with runLauncherAsNode one node becomes two hosts: the launcher and a node."
        yield Spot(message, "spec.trainer.numNodes")


@RUNTIMES.rule("MIG212")
def moved_rank_0(runtime: Runtime) -> Iterator[Spot]:
    """A launcher that trains and is listed behind the nodes."""
    names = [each.name for each in runtime.replicated]
    if runtime.policy == "mpi" and runtime.settings.get("runLauncherAsNode") and names[:2] == ["node", "launcher"]:
        message = "nodes are listed first: rank 0 is the first node, not the launcher."
        yield Spot(message, "spec.template.spec.replicatedJobs")


@TRAIN_JOBS.rule("MIG213")
def several_gpus(job: TrainJob) -> Iterator[Spot]:
    """XGBoost with several GPUs for each pod."""
    if job.policy == "xgboost" and (count := pods.gpus(job.node)) > 1:
        message = f"DMLC_NUM_WORKER counts {count} workers for each pod, DMLC_TASK_ID numbers pods."
        yield Spot(message, "spec.trainer.resourcesPerNode")


@TRAIN_JOBS.rule("MIG214")
def paddle_master(job: TrainJob) -> Iterator[Spot]:
    """One address of Paddle's master for all nodes."""
    for at, variable in enumerate(job.trainer.get("env") or ()):
        if variable.get("name") == "PADDLE_MASTER" and job.num_nodes > 1:
            message = "all nodes get this address, but rank 0 needs its own IP."
            yield Spot(message, f"spec.trainer.env[{at}]")


@RUNTIMES.rule("MIG217")
def other_subdomain(runtime: Runtime) -> Iterator[Spot]:
    """Another subdomain than the TrainJob's name."""
    subdomain = (runtime.job_set.get("network") or {}).get("subdomain")
    if subdomain and runtime.policy in FIXED_PORT:
        message = f"subdomain {subdomain}: the addresses that v2 gives end in the TrainJob's name."
        yield Spot(message, "spec.template.spec.network.subdomain")


@RUNTIMES.rule("MIG220")
def sidecar_variables(runtime: Runtime) -> Iterator[Spot]:
    """Sidecars that mention variables which only `node` gets."""
    trainer = runtime.trainer
    if trainer is None or runtime.policy != "torch":
        return
    targets = (runtime.settings.get("envInjection") or {}).get("targets") or ()
    given = {name for target in targets for name in target.get("containerNames") or ()}
    for path, each in trainer.sidecars:
        if each.get("name") not in given and "PET_" in " ".join(words(each)):
            yield Spot(f"container {each.get('name')} uses variables that v2 gives to {trainer.main} only.", path)


@RUNTIMES.rule("MIG507")
def loose_step(runtime: Runtime) -> Iterator[Spot]:
    """A step that is not tied to its container."""
    for each in runtime.replicated:
        if not each.step:
            continue
        replicas = each.content.get("replicas", 1)
        if replicas not in (None, 1):
            yield Spot(f"step {each.step} has {replicas} replicas and must have 1.", f"{each.path}.replicas")
        if not each.container:
            yield Spot(f"step {each.step} has no container {each.main!r}.", f"{each.pod_path}.containers")


@TRAIN_JOBS.rule("MIG509")
def one_process(job: TrainJob) -> Iterator[Spot]:
    """One process for each node of an MPI runtime, with several GPUs."""
    if job.policy != "mpi" or job.runtime is None or job.trainer.get("numProcPerNode"):
        return
    if job.runtime.settings.get("numProcPerNode", 1) == 1 and (count := pods.gpus(job.node)) > 1:
        message = f"the runtime's 1 counts as not given: there are {count} slots for each node."
        yield Spot(message, "spec.trainer.numProcPerNode")


@RUNTIMES.rule("MIG510")
def lost_parallelism(runtime: Runtime) -> Iterator[Spot]:
    """A number of pods that the policy replaces."""
    trainer = runtime.trainer
    if trainer is None or runtime.ml_policy is None:
        return
    number, nodes = trainer.job.get("parallelism"), runtime.ml_policy.get("numNodes") or 1
    if number is not None and number != nodes:
        message = f"parallelism {number} is replaced by the {nodes} of the policy."
        # Other policies are known to count nodes.
        severity = None if runtime.policy == "plain" else Severity.INFO
        yield Spot(message, f"{trainer.path}.template.spec.parallelism", severity=severity)
