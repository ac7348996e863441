"""MPIJob: a launcher whose mpirun starts its processes in the worker pods through `kubectl exec`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.companions import CONFIG_MAP, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from training_controllers.engine.model import EventType, JobEvent, Slot
from training_controllers.frameworks.base import Framework, Holders, ReplicaStatuses, Verdict
from training_controllers.frameworks.mpi_objects import (
    DISCOVERY,
    HOSTFILE,
    KUBEXEC,
    LAUNCHER,
    WORKER,
    companions,
    config_name,
    has_gpu_launcher,
    launcher_account,
)
from training_controllers.frameworks.status_rules import failed_unless_exit_code, master_decides, until_the_end
from training_controllers.pod_spec import CannotBuild, PodSpec, env

CONFIG_FOLDER: Final = "/etc/mpi"
CONFIG_VOLUME: Final = {"name": "mpi-job-config", "mountPath": CONFIG_FOLDER}
KUBECTL_VOLUME: Final = {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"}
EXECUTABLE, READABLE = 0o555, 0o444
DELIVERY_RESOURCES: Final = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}


@dataclass(frozen=True, slots=True)
class MPIOptions:
    """Settings of the operator for all MPIJobs."""

    kubectl_delivery_image: str = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"


def mpi(options: MPIOptions) -> Framework:
    """The framework of MPIJob (frameworks.md section 6)."""
    return Framework(
        info=KINDS["MPIJob"],
        judge=judge,
        configure_pod=partial(configure_pod, options),
        is_master=lambda _job, slot: slot.replica_type == LAUNCHER,
        companion_sorts=(SERVICE_ACCOUNT, CONFIG_MAP, ROLE, ROLE_BINDING),
        companions=companions,
        notices=notices,
        pod_created=pod_created,
        announces_exits=False,
        helpers=frozenset({WORKER}),
        foreign_scheduler_reason="SettedPodTemplateSchedulerName",
        overwritten_policy_reason="SettedPodTemplateRestartPolicy",
    )


def configure_pod(options: MPIOptions, job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Let a worker wait to be entered, and give the launcher what it needs to enter workers."""
    if not spec.get("containers"):
        raise CannotBuild(f"{slot.replica_type} has no container")
    return _launcher(options, job, spec) if slot.replica_type == LAUNCHER else _worker(job, spec)


def _worker(job: Job, spec: PodSpec) -> PodSpec:
    """The worker of frameworks.md 6.6: only its first container is changed."""
    first = spec["containers"][0]
    waiting = {} if first.get("command") else {"command": ["sleep"], "args": ["365d"]}
    return {
        **spec,
        "containers": [{**first, **waiting, **_mounted(first, CONFIG_VOLUME)}, *spec["containers"][1:]],
        "volumes": [*(spec.get("volumes") or ()), _config_volume(job, {KUBEXEC: EXECUTABLE})],
    }


def _launcher(options: MPIOptions, job: Job, spec: PodSpec) -> PodSpec:
    """The launcher of frameworks.md 6.7."""
    first = spec["containers"][0]
    main = {
        **first,
        "env": [*(first.get("env") or ()), *environment(job, first)],
        **_mounted(first, KUBECTL_VOLUME, CONFIG_VOLUME),
    }
    files = {KUBEXEC: EXECUTABLE, HOSTFILE: READABLE, DISCOVERY: EXECUTABLE}
    return {
        **spec,
        "serviceAccountName": launcher_account(job),
        "initContainers": [*(spec.get("initContainers") or ()), _delivery(options, job)],
        "containers": [main, *spec["containers"][1:]],
        "volumes": [
            *(spec.get("volumes") or ()),
            {"name": KUBECTL_VOLUME["name"], "emptyDir": {}},
            _config_volume(job, files),
        ],
    }


def environment(job: Job, container: Mapping[str, Any]) -> list[dict[str, str]]:
    """The variables of frameworks.md 6.7, in v1's order, and those that Open MPI 5 reads in place of the first two."""
    agent, hosts = f"{CONFIG_FOLDER}/{KUBEXEC}", f"{CONFIG_FOLDER}/{HOSTFILE}"
    variables = [env("OMPI_MCA_plm_rsh_agent", agent), env("OMPI_MCA_orte_default_hostfile", hosts)]
    if not has_gpu_launcher(job):
        # The API server stores an empty value as none.
        variables += [{"name": "NVIDIA_VISIBLE_DEVICES"}, {"name": "NVIDIA_DRIVER_CAPABILITIES"}]
    unless_given = [
        env("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
        env("I_MPI_HYDRA_BOOTSTRAP_EXEC", agent),
        env("PRTE_MCA_plm_ssh_agent", agent),
        env("PRTE_MCA_prte_default_hostfile", hosts),
    ]
    given = {variable["name"] for variable in container.get("env") or ()}
    return variables + [variable for variable in unless_given if variable["name"] not in given]


def _delivery(options: MPIOptions, job: Job) -> dict[str, Any]:
    """The init container that brings kubectl into the launcher."""
    return {
        "name": "kubectl-delivery",
        "image": options.kubectl_delivery_image,
        "imagePullPolicy": "IfNotPresent",
        "env": [env("TARGET_DIR", KUBECTL_VOLUME["mountPath"]), env("NAMESPACE", job.metadata.namespace)],
        "volumeMounts": [KUBECTL_VOLUME, CONFIG_VOLUME],
        "resources": {"limits": DELIVERY_RESOURCES, "requests": DELIVERY_RESOURCES},
    }


def _mounted(container: Mapping[str, Any], *mounts: Mapping[str, str]) -> dict[str, Any]:
    return {"volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}


def _config_volume(job: Job, files: Mapping[str, int]) -> dict[str, Any]:
    items = [{"key": name, "path": name, "mode": mode} for name, mode in files.items()]
    return {"name": CONFIG_VOLUME["name"], "configMap": {"name": config_name(job), "items": items}}


def pod_created(slot: Slot, name: str) -> tuple[str, str]:
    """What v1 tells of new pods."""
    if slot.replica_type == LAUNCHER:
        return "MPIJobRunning", f"launcher pod created success: {name}"
    return "SuccessfulCreatePod", f"Created worker pod: {name}"


def notices(job: Job, holders: Holders) -> Sequence[JobEvent]:
    """What v1 tells of the launcher and the workers beside the conditions (frameworks.md 6.10), each once."""
    return tuple(_notices(job, holders))


def _notices(job: Job, holders: Holders) -> Iterator[JobEvent]:
    subject = f"MPIJob {job.metadata.namespace}/{job.metadata.name}"
    workers = [pod for slot, pod in holders.items() if slot.replica_type == WORKER]
    launcher = holders.get(Slot(LAUNCHER, 0))
    if launcher is None:
        return
    if launcher.phase == "Succeeded":
        text = f"{subject} successfully completed."
        yield JobEvent(EventType.NORMAL, "mpijobsSucceeded", text, once=f"mpi/{launcher.uid}/succeeded")
    if launcher.phase == "Failed":
        reason = launcher.reason or "MPIJobFailed"
        yield JobEvent(EventType.WARNING, reason, f"{subject} has failed", once=f"mpi/{launcher.uid}/failed")
    if evicted := sum(pod.phase == "Failed" and pod.reason == "Evicted" for pod in workers):
        text = f"{evicted}/{len(workers)} workers are evicted"
        yield JobEvent(EventType.WARNING, "MPIJobEvicted", text, once=f"mpi/evicted/{text}")
    if launcher.phase == "Running" and all(pod.phase == "Running" for pod in workers):
        yield JobEvent(EventType.NORMAL, "MPIJobRunning", f"{subject} is running", once=f"mpi/{launcher.uid}/running")


def judge(job: Job, statuses: ReplicaStatuses) -> tuple[Verdict, ...]:
    """The launcher decides, but a worker that has failed fails the job even if mpirun ends well (6.10)."""
    return until_the_end(_verdicts(job, statuses))


def _verdicts(job: Job, statuses: ReplicaStatuses) -> Iterator[Verdict]:
    for replica_type in (WORKER, LAUNCHER):
        status = statuses.get(replica_type)
        if status is None:
            continue
        if replica_type == LAUNCHER:
            yield from master_decides(job, replica_type, status)
        yield from failed_unless_exit_code(job, replica_type, status, word="MPIJobFailed")
