"""The objects that an MPIJob owns next to its pods: scripts and host list; the role and account of `kubectl exec`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from training_api.kinds import Job
from training_api.models.mpi import MPIJobSpec
from training_api.problems import Problem, ProblemKind
from training_controllers.frameworks.base import PodsBySlot
from training_controllers.model.names import ReplicaNames, replica_name, replica_names
from training_controllers.model.owned_objects import CONFIG_MAP, ROLE, ROLE_BINDING, SERVICE_ACCOUNT, OwnedObject
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import Container, env
from training_controllers.observe.pod_failures import is_running

LAUNCHER: Final = "Launcher"
WORKER: Final = "Worker"
HOSTFILE: Final = "hostfile"
KUBEXEC: Final = "kubexec.sh"
DISCOVERY: Final = "discover_hosts.sh"
INTERPRETER: Final = "#!/bin/sh"
CONFIG_FOLDER: Final = "/etc/mpi"
CONFIG_VOLUME: Final = {"name": "mpi-job-config", "mountPath": CONFIG_FOLDER}
EXECUTABLE, READABLE = 0o555, 0o444
RBAC_GROUP: Final = "rbac.authorization.k8s.io"
CONFIG_MAP_BYTES: Final = 1 << 20
"""What the API server takes as the data of one ConfigMap."""
MOST_OF_OTHER_FILES: Final = 8192
"""More than scripts and settings take, in either way to start ranks."""


def owned_objects(job: Job, pods_by_slot: PodsBySlot) -> tuple[OwnedObject, ...]:
    """The four objects that v1 makes, in v1's order. An account that the user names may be the user's own."""
    named, role = user_account(job), launcher_role(job, pods_by_slot)
    account = named or role.name
    subject = {"kind": "ServiceAccount", "name": account, "namespace": job.metadata.namespace}
    reference = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": role.name}
    return (
        OwnedObject(SERVICE_ACCOUNT, account, shared=bool(named)),
        OwnedObject(CONFIG_MAP, config_name(job), {"data": files(job, pods_by_slot)}),
        role,
        OwnedObject(ROLE_BINDING, role.name, {"subjects": [subject], "roleRef": reference}),
    )


def launcher_role(job: Job, pods_by_slot: PodsBySlot) -> OwnedObject:
    """What the launcher may do."""
    return OwnedObject(ROLE, replica_name(job, Slot(LAUNCHER, 0)), {"rules": rules(job, pods_by_slot)})


def config_name(job: Job) -> str:
    """Name of the config map."""
    return f"{job.metadata.name}-config"


def launcher_account(job: Job) -> str:
    """Name of the launcher's service account: the user's choice, else that of the launcher."""
    return user_account(job) or replica_name(job, Slot(LAUNCHER, 0))


def user_account(job: Job) -> str:
    """Name of the service account of the launcher's template; empty if it has none."""
    spec = job.replicas[LAUNCHER].template.get("spec") or {}
    return spec.get("serviceAccountName") or ""


def files(job: Job, pods_by_slot: PodsBySlot) -> dict[str, str]:
    """The content of the config map."""
    return {HOSTFILE: hostfile(job), KUBEXEC: kubexec(job), DISCOVERY: discover_hosts(job, pods_by_slot)}


def hostfile(job: Job) -> str:
    """One line per host, whether it runs or not; a launcher with GPUs is the first."""
    return "".join(f"{host}{_slots_of(job)}" for host in _own_host(job)) + _listed(_workers(job), _slots_of(job))


def host_list_problems(job: Job) -> Iterator[Problem]:
    """Lists of hosts that do not fit into a ConfigMap once all workers run."""
    workers, slots = _workers(job), _slots_of(job)
    size = 2 * (workers.size + workers.count * len(slots)) + MOST_OF_OTHER_FILES
    if size > CONFIG_MAP_BYTES:
        text = f"the lists of hosts would have {size} bytes; a ConfigMap has at most {CONFIG_MAP_BYTES}"
        path = f"{job.info.replica_path(WORKER)}.replicas"
        yield Problem(path, ProblemKind.INVALID, f"{text}: use fewer workers or a shorter name", workers.count)


@lru_cache(maxsize=8)
def _listed(workers: ReplicaNames, slots: str) -> str:
    """The lines of all workers, which are the same in every reconcile of the job."""
    return "".join(f"{worker}{slots}" for worker in workers)


def _slots_of(job: Job) -> str:
    """What follows a host on its line."""
    return f" slots={_slots(job)}\n"


def kubexec(job: Job) -> str:
    """The agent that mpirun calls with a host and a command: enter the pod of that name and run it there."""
    container = _spec(job).main_container
    option = f" --container {container}" if container else ""
    enter = f'/opt/kube/kubectl exec ${{POD_NAME}}{option} -- /bin/sh -c "$*"'
    return "\n".join([INTERPRETER, "set -x", "POD_NAME=$1", "shift", enter])


def discover_hosts(job: Job, pods_by_slot: PodsBySlot) -> str:
    """A script that prints the hosts which run now, for elastic Horovod; workers in textual order, as in v1."""
    slots = _slots(job)
    running = sorted(pod.name for slot, pod in pods_by_slot.items() if slot.replica_type == WORKER and is_running(pod))
    own = "".join(f"\necho {host}:{slots}\n" for host in _own_host(job))
    return INTERPRETER + own + "".join(f"\necho {name}:{slots}" for name in running)


def rules(job: Job, pods_by_slot: PodsBySlot) -> list[dict[str, Any]]:
    """What the launcher may do: see pods, and enter the job's own workers.

    Names are all that a rule can say, so only those of pods that are there and the job's: another name may be, or
    become, that of another owner's pod. Without any there is no second rule: one without names would allow entering
    every pod of the namespace.
    """
    see = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    prefix = _workers(job).prefix
    workers = {slot.index: pod for slot, pod in pods_by_slot.items() if slot.replica_type == WORKER}
    names = [pod.name for i, pod in sorted(workers.items()) if not pod.deleting and pod.name == f"{prefix}{i}"]
    enter = {"apiGroups": [""], "resources": ["pods/exec"], "resourceNames": names, "verbs": ["create"]}
    return [see, enter] if names else [see]


def has_gpu_launcher(job: Job) -> bool:
    """Whether a container of the launcher has a limit on GPUs: then ranks run in the launcher, too."""
    spec: Mapping[str, Any] = job.replicas[LAUNCHER].template.get("spec") or {}
    limits = (((container.get("resources") or {}).get("limits") or {}) for container in spec.get("containers") or ())
    return any("gpu" in resource for names in limits for resource in names)


def config_path(file: str) -> str:
    """Where containers find a file of the config map."""
    return f"{CONFIG_FOLDER}/{file}"


def config_volume(job: Job, files: Mapping[str, int]) -> dict[str, Any]:
    """The volume with some files of the config map, each with its mode."""
    items = [{"key": name, "path": name, "mode": mode} for name, mode in files.items()]
    return {"name": CONFIG_VOLUME["name"], "configMap": {"name": config_name(job), "items": items}}


def mounted(container: Container, *mounts: Mapping[str, Any]) -> dict[str, Any]:
    """The container's mounts and further ones."""
    return {"volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}


def launcher_environment(job: Job, container: Container, agent: str) -> list[dict[str, str]]:
    """The environment that v1 sets, in v1's order, and the variables that Open MPI 5 reads in place of the first two.

    `agent` is the program that mpirun calls with a host and a command.
    """
    hosts = config_path(HOSTFILE)
    variables = [env("OMPI_MCA_plm_rsh_agent", agent), env("OMPI_MCA_orte_default_hostfile", hosts)]
    if not has_gpu_launcher(job):
        # The API server stores an empty value as none.
        variables += [{"name": "NVIDIA_VISIBLE_DEVICES"}, {"name": "NVIDIA_DRIVER_CAPABILITIES"}]
    further = [
        env("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
        env("I_MPI_HYDRA_BOOTSTRAP_EXEC", agent),
        env("PRTE_MCA_plm_ssh_agent", agent),
        env("PRTE_MCA_prte_default_hostfile", hosts),
    ]
    return variables + unless_given(container, further)


def unless_given(container: Container, variables: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Those of the variables that the user has not set."""
    given = {variable["name"] for variable in container.get("env") or ()}
    return [variable for variable in variables if variable["name"] not in given]


def _own_host(job: Job) -> tuple[str, ...]:
    return (replica_name(job, Slot(LAUNCHER, 0)),) if has_gpu_launcher(job) else ()


def _workers(job: Job) -> ReplicaNames:
    return replica_names(job, WORKER)


def _slots(job: Job) -> int:
    slots = _spec(job).slots_per_worker
    return 1 if slots is None else slots


def _spec(job: Job) -> MPIJobSpec:
    assert isinstance(job.spec, MPIJobSpec)
    return job.spec
