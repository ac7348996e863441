"""MPIJob: a launcher whose mpirun starts its processes in the worker pods, through `kubectl exec` or over SSH."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, PodsBySlot, ReplicaStatuses, Sample
from training_controllers.frameworks.mpi import exec_pods, objects, ssh_pods
from training_controllers.frameworks.mpi.objects import LAUNCHER, WORKER
from training_controllers.frameworks.rules import (
    failed_unless_exit_code,
    master_decides,
    restarts_despite_failure,
    until_the_end,
)
from training_controllers.model.owned_objects import (
    CONFIG_MAP,
    KEYS,
    NETWORK,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    OwnedObject,
    PolicyRule,
)
from training_controllers.model.plan import EventType, JobEvent, Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import FailureAction, failure_action, is_disrupted, may_restart


@dataclass(frozen=True, slots=True)
class MPIOptions:
    """Settings of the operator for all MPIJobs."""

    kubectl_delivery_image: str = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"


def mpi(options: MPIOptions) -> Framework:
    """The framework of MPIJob."""
    return Framework(
        info=KINDS["MPIJob"],
        evaluate=evaluate,
        configure_pod=partial(configure_pod, options),
        is_master=lambda _job, slot: slot.replica_type == LAUNCHER,
        owned_kinds=(SERVICE_ACCOUNT, CONFIG_MAP, ROLE, ROLE_BINDING, NETWORK, KEYS),
        permissions=(PolicyRule("", "pods/exec", ("create",)),),
        owned_objects=owned_objects,
        problems=objects.host_list_problems,
        events=events,
        pod_created=pod_created,
        emits_exit_events=False,
        auxiliary_types=frozenset({WORKER}),
        annotations=(ssh_pods.LAUNCH,),
        scheduler_event_reason="SettedPodTemplateSchedulerName",
        restart_policy_event_reason="SettedPodTemplateRestartPolicy",
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.mpi:plan",
    )


def configure_pod(options: MPIOptions, job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Let a worker wait to be entered, and give the launcher what it needs to enter workers."""
    if not spec.get("containers"):
        raise CannotBuild(f"{slot.replica_type} has no container")
    is_launcher = slot.replica_type == LAUNCHER
    if over_ssh(job):
        return ssh_pods.launcher(job, spec) if is_launcher else ssh_pods.worker(job, slot, spec)
    if is_launcher:
        return exec_pods.launcher(job, spec, options.kubectl_delivery_image)
    return exec_pods.worker(job, spec)


def over_ssh(job: Job) -> bool:
    """Whether the job uses SSH keys and daemons in place of the permission `pods/exec`."""
    return ssh_pods.LAUNCH.of(job) == "ssh"


def owned_objects(job: Job, pods_by_slot: PodsBySlot) -> Sequence[OwnedObject]:
    """What the job has next to its pods. A Role of a time without SSH loses what it grants."""
    if over_ssh(job):
        return (*ssh_pods.owned_objects(job, pods_by_slot), replace(objects.launcher_role(job, {}), existing_only=True))
    return objects.owned_objects(job, pods_by_slot)


def pod_created(slot: Slot, name: str) -> tuple[str, str]:
    """Reason and message of v1's event for a new pod."""
    if slot.replica_type == LAUNCHER:
        return "MPIJobRunning", f"launcher pod created success: {name}"
    return "SuccessfulCreatePod", f"Created worker pod: {name}"


def events(job: Job, pods_by_slot: PodsBySlot) -> Sequence[JobEvent]:
    """The events that v1 emits for launcher and workers next to the conditions, each once."""
    return tuple(_events(job, pods_by_slot))


def _events(job: Job, pods_by_slot: PodsBySlot) -> Iterator[JobEvent]:
    subject = f"MPIJob {job.metadata.namespace}/{job.metadata.name}"
    workers = [pod for slot, pod in pods_by_slot.items() if slot.replica_type == WORKER]
    launcher = pods_by_slot.get(Slot(LAUNCHER, 0))
    if launcher is None:
        return
    if launcher.phase == "Succeeded":
        text = f"{subject} successfully completed."
        yield JobEvent(EventType.NORMAL, "mpijobsSucceeded", text, once=f"mpi/{launcher.uid}/succeeded")
    if launcher.phase == "Failed" and not _is_run_again(job, launcher):
        reason = launcher.reason or "MPIJobFailed"
        yield JobEvent(EventType.WARNING, reason, f"{subject} has failed", once=f"mpi/{launcher.uid}/failed")
    if evicted := sum(pod.phase == "Failed" and pod.reason == "Evicted" for pod in workers):
        text = f"{evicted}/{len(workers)} workers are evicted"
        yield JobEvent(EventType.WARNING, "MPIJobEvicted", text, once=f"mpi/evicted/{text}")
    if launcher.phase == "Running" and all(pod.phase == "Running" for pod in workers):
        yield JobEvent(EventType.NORMAL, "MPIJobRunning", f"{subject} is running", once=f"mpi/{launcher.uid}/running")


def _is_run_again(job: Job, launcher: PodRecord) -> bool:
    """Whether the failed launcher gets a new pod, so that nothing is lost that v1's warning would speak of."""
    if is_disrupted(launcher):
        return failure_action(job, Slot(LAUNCHER, 0), launcher) is not FailureAction.FAIL
    policy = job.replicas[LAUNCHER].restart_policy
    return restarts_despite_failure(job, LAUNCHER) and may_restart(launcher, policy, job.main_container(LAUNCHER))


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """The launcher decides, but a worker that has failed fails the job even if mpirun ends well."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    for replica_type in (WORKER, LAUNCHER):
        status = statuses.get(replica_type)
        if status is None:
            continue
        if replica_type == LAUNCHER:
            yield from master_decides(job, replica_type, status)
        yield from failed_unless_exit_code(job, replica_type, status, word="MPIJobFailed")


VARIABLES: Final = {
    "OMPI_MCA_plm_rsh_agent": "Open MPI 4: program that mpirun calls to start its daemon in a worker",
    "OMPI_MCA_orte_default_hostfile": "Open MPI 4: the list of workers and their slots",
    "NVIDIA_VISIBLE_DEVICES": "empty, so that the launcher sees no GPU; absent if it has a limit on GPUs itself",
    "NVIDIA_DRIVER_CAPABILITIES": "empty, likewise",
    "I_MPI_HYDRA_BOOTSTRAP": "Intel MPI: start daemons by such a program",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": "Intel MPI: program that mpirun calls to start its daemon in a worker",
    "PRTE_MCA_plm_ssh_agent": "Open MPI 5: program that mpirun calls to start its daemon in a worker",
    "PRTE_MCA_prte_default_hostfile": "Open MPI 5: the list of workers and their slots",
    "OMPI_MCA_plm_rsh_no_tree_spawn": "Open MPI 4: only the launcher starts daemons, as workers have no keys",
    "PRTE_MCA_plm_ssh_no_tree_spawn": "Open MPI 5: the same",
}
SAMPLES: Final = (
    Sample("A Launcher and 2 Workers", {LAUNCHER: 1, WORKER: 2}, (Slot(LAUNCHER, 0), Slot(WORKER, 0))),
    Sample(
        "The same over SSH",
        {LAUNCHER: 1, WORKER: 2},
        (Slot(LAUNCHER, 0), Slot(WORKER, 0)),
        annotations={"extension.training.kubeflow.org/mpi-launch": "ssh"},
    ),
)
