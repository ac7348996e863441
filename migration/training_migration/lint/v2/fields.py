"""Fields that a release does not have, that have no effect, or that do harm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from training_api.constants import MANAGED_BY_MULTIKUEUE
from training_migration.lint.checks import Spot
from training_migration.lint.names import too_long
from training_migration.lint.v2.subject import PLAIN, RUNTIMES, TRAIN_JOBS, Replicated, Runtime, TrainJob
from training_migration.v2.names import CONTAINER_OF, TRAINER

_OVERRIDES: Final = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")
_ONLY_OLD: Final = ("labels", "annotations")
_OF_POD: Final = frozenset(
    {
        "serviceAccountName",
        "volumes",
        "initContainers",
        "containers",
        "imagePullSecrets",
        "securityContext",
        "terminationGracePeriodSeconds",
        "nodeSelector",
        "affinity",
        "tolerations",
        "schedulingGates",
    }
)
_OF_CONTAINER: Final = frozenset({"name", "env", "volumeMounts", "securityContext"})


@TRAIN_JOBS.rule("MIG002")
def missing_feature(job: TrainJob) -> Iterator[Spot]:
    """A deadline or a manager that the release does not have."""
    if job.spec.get("activeDeadlineSeconds") is not None and not job.features.deadline:
        yield Spot(f"a TrainJob of {job.target} has no deadline.", "spec.activeDeadlineSeconds")
    if job.spec.get("managedBy") == MANAGED_BY_MULTIKUEUE and not job.features.multikueue:
        yield Spot(f"Trainer {job.target} runs jobs of MultiKueue by itself.", "spec.managedBy")


@RUNTIMES.rule("MIG002")
def missing_policy(runtime: Runtime) -> Iterator[Spot]:
    """A policy that the release does not have."""
    if runtime.policy != PLAIN and runtime.policy not in runtime.features.policies:
        yield Spot(f"Trainer {runtime.target} has no policy {runtime.policy}.", f"spec.mlPolicy.{runtime.policy}")
    if "envInjection" in runtime.settings and not runtime.features.torch_env_injection:
        yield Spot(f"Trainer {runtime.target} has no envInjection.", "spec.mlPolicy.torch.envInjection")
    if "volcano" in (runtime.spec.get("podGroupPolicy") or {}) and not runtime.features.volcano:
        yield Spot(f"Trainer {runtime.target} has no pod groups of Volcano.", "spec.podGroupPolicy.volcano")


@TRAIN_JOBS.rule("MIG003")
def long_name(job: TrainJob) -> Iterator[Spot]:
    """A name that leaves no room for what is added to it."""
    groups = [(each.name, _count(job, each)) for each in (job.runtime.replicated if job.runtime else ())]
    yield from too_long(job.name, groups)


def _count(job: TrainJob, replicated: Replicated) -> int:
    """How many pods a replicated job has."""
    runtime = job.runtime
    counted = replicated is runtime.nodes or replicated is runtime.trainer if runtime else False
    if runtime is not None and counted and runtime.ml_policy is not None:
        launcher = runtime.policy == "mpi" and replicated is not runtime.nodes
        return 1 if launcher else max(job.num_nodes, 1)
    number = replicated.job.get("parallelism")
    return number if isinstance(number, int) else 1


@TRAIN_JOBS.rule("MIG502")
def lost_resources(job: TrainJob) -> Iterator[Spot]:
    """Resources that have no effect."""
    if not job.features.resources_need_policy or job.runtime is None:
        return
    if job.runtime.ml_policy is None and job.trainer.get("resourcesPerNode"):
        yield Spot("the runtime has no mlPolicy: resources are ignored.", "spec.trainer.resourcesPerNode")


@RUNTIMES.rule("MIG503")
def old_torch_fields(runtime: Runtime) -> Iterator[Spot]:
    """Fields of the torch policy that no longer exist."""
    if runtime.policy != "torch" or runtime.features.overrides != "runtimePatches":
        return
    for name in ("numProcPerNode", "elasticPolicy"):
        if name in runtime.settings:
            yield Spot(f"Trainer {runtime.target} has no {name} in the torch policy.", f"spec.mlPolicy.torch.{name}")


@TRAIN_JOBS.rule("MIG504")
def other_release(job: TrainJob) -> Iterator[Spot]:
    """Fields that only other releases have."""
    for name in _OVERRIDES:
        if name in job.spec and name != job.features.overrides:
            yield Spot(f"Trainer {job.target} has {job.features.overrides} in place of {name}.", f"spec.{name}")
    for name in _ONLY_OLD if job.features.overrides == "runtimePatches" else ():
        if name in job.spec:
            message = f"Trainer {job.target} has no {name} in the spec; runtimePatches give them to the JobSet."
            yield Spot(message, f"spec.{name}")


@TRAIN_JOBS.rule("MIG505")
def rejected_patch(job: TrainJob) -> Iterator[Spot]:
    """A patch that is rejected."""
    if job.features.overrides != "runtimePatches":
        return
    for at, patch in enumerate(job.spec.get("runtimePatches") or ()):
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        jobs = (template.get("spec") or {}).get("replicatedJobs") or ()
        where = f"spec.runtimePatches[{at}].trainingRuntimeSpec.template.spec.replicatedJobs"
        for number, each in enumerate(jobs):
            pod = (((each.get("template") or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
            path = f"{where}[{number}].template.spec.template.spec"
            yield from _rejected_pod(pod, path, _known(job, str(each.get("name"))))


def _known(job: TrainJob, name: str) -> frozenset[str] | None:
    """Names of the containers of a replicated job of the runtime; None where it is not known."""
    found = next((each for each in (job.runtime.replicated if job.runtime else ()) if each.name == name), None)
    if found is None:
        return None
    groups = (found.pod.get("initContainers") or (), found.pod.get("containers") or ())
    return frozenset(str(each.get("name")) for group in groups for each in group)


def _rejected_pod(pod: Mapping[str, Any], path: str, known: frozenset[str] | None) -> Iterator[Spot]:
    for name in pod:
        if name not in _OF_POD:
            yield Spot(f"a patch may not set {name}.", f"{path}.{name}")
    for group in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(group) or ()):
            name, where = str(container.get("name")), f"{path}.{group}[{at}]"
            if known is not None and name not in known:
                yield Spot(f"a patch may not add container {name}.", where)
            if container.get("env") and name in CONTAINER_OF.values():
                yield Spot(f"a patch may not set variables of {name}.", f"{where}.env")
            for field in sorted(set(container) - _OF_CONTAINER):
                yield Spot(f"a patch may not set {field} of a container.", f"{where}.{field}")


@RUNTIMES.rule("MIG508")
def time_to_live_that_runs_again(runtime: Runtime) -> Iterator[Spot]:
    """A time to live with a release that then starts again."""
    if runtime.job_set.get("ttlSecondsAfterFinished") is not None and runtime.features.ttl_runs_again:
        message = f"with Trainer {runtime.target} a failed TrainJob starts again when its JobSet expires, forever."
        yield Spot(message, "spec.template.spec.ttlSecondsAfterFinished")


@TRAIN_JOBS.rule("MIG511")
def unknown_runtime(job: TrainJob) -> Iterator[Spot]:
    """A runtime that is not at hand."""
    if job.runtime is None:
        name = (job.spec.get("runtimeRef") or {}).get("name")
        yield Spot(f"runtime {name!r} is not among the files: policy and command are not known.", "spec.runtimeRef")
    elif job.spec.get("trainer") is not None and job.runtime.trainer is None:
        message = f"no replicated job of the runtime is labelled for step {TRAINER!r}: the block has no effect."
        yield Spot(message, "spec.trainer")
