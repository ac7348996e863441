"""MPI over SSH: keys, host file and the launcher's settings of Open MPI."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

from training_migration.v2.denied import Denied
from training_migration.v2.draft import Draft, Role, put, put_variables
from training_migration.v2.keys import ssh_keys
from training_migration.v2.names import LAUNCHER, NODE, RESERVED
from training_migration.v2.policies.policy import Policy
from training_migration.v2.resources import accelerators, resources_per_node
from training_migration.v2.variables import literal

Json = dict[str, Any]

_KEYS: Final = "mpi-ssh-auth"
_HOSTS: Final = "mpi-hostfile"
_HOSTS_FOLDER: Final = "/etc/mpi"
_FILES: Final = (
    ("ssh-privatekey", "id_rsa", 0o640),
    ("ssh-publickey", "id_rsa.pub", 0o644),
    ("ssh-publickey", "authorized_keys", 0o644),
)


def _applies(draft: Draft) -> bool:
    return draft.policy("mpi") is not None


def _check(draft: Draft) -> None:
    nodes = (draft.trainer or {}).get("numNodes") or 1
    if nodes >= 2 and draft.launcher_is_node and (draft.role(LAUNCHER) is None or draft.role(NODE) is None):
        message = f"must be 1, not {nodes}: the runtime lets its launcher train, and lacks a job `launcher` or `node`"
        raise Denied("spec.trainer.numNodes", message)
    if draft.features.rejects_mpi_env:
        draft.reject_variables(RESERVED["mpi"])


def _enforce(draft: Draft) -> None:
    _count_nodes(draft)
    policy = _policy(draft)
    for role in draft.roles:
        if role.name in (NODE, LAUNCHER):
            _mount(draft, role, policy["sshAuthMountPath"])
    launcher = draft.role(LAUNCHER)
    if launcher is not None and (container := launcher.container(NODE)) is not None:
        if policy["mpiImplementation"] != "OpenMPI":
            raise Denied("spec.mlPolicy.mpi.mpiImplementation", "v2 supports no implementation but OpenMPI")
        put_variables(container, _variables(_slots(draft)))


def _count_nodes(draft: Draft) -> None:
    """The trainer block's number is that of the nodes, one of which may be the launcher; but there is always one."""
    nodes, role = (draft.trainer or {}).get("numNodes"), draft.role(NODE)
    if nodes is not None and role is not None:
        role.count = max(nodes - 1, 1) if draft.launcher_is_node else nodes


def _policy(draft: Draft) -> Json:
    return draft.policy("mpi") or {}


def _slots(draft: Draft) -> int:
    """Processes of a node: the TrainJob's word, else the runtime's, of which 1 means all GPUs."""
    given: int | None = (draft.trainer or {}).get("numProcPerNode")
    stated: int = _policy(draft)["numProcPerNode"]
    if given is not None:
        return given
    if stated != 1 or not draft.features.counts_template:
        return stated
    return max(1, accelerators(resources_per_node(draft)))


def _variables(slots: int) -> list[Json]:
    return [
        literal("OMPI_MCA_orte_default_hostfile", f"{_HOSTS_FOLDER}/hostfile"),
        literal("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        literal("OMPI_MCA_orte_set_default_slots", slots),
        literal("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
    ]


def _mount(draft: Draft, role: Role, keys_path: str) -> None:
    """Give the role its volumes, and its containers `node` the mounts."""
    volumes, mounts = [_keys_volume(draft)], [{"name": _KEYS, "mountPath": keys_path}]
    if role.name == LAUNCHER:
        items = [{"key": "hostfile", "path": "hostfile", "mode": 0o444}]
        volumes.append({"name": _HOSTS, "configMap": {"name": f"{draft.name}-{_HOSTS}", "items": items}})
        mounts.append({"name": _HOSTS, "mountPath": _HOSTS_FOLDER})
    put(role.pod_spec.setdefault("volumes", []), volumes, lambda old, new: bool(old["name"] == new["name"]))
    if (container := role.container(NODE)) is not None:
        same = "mountPath"
        put(container.setdefault("volumeMounts", []), mounts, lambda old, new: bool(old[same] == new[same]))


def _keys_volume(draft: Draft) -> Json:
    modes = draft.features.key_modes
    items = [{"key": key, "path": path} | ({"mode": mode} if modes else {}) for key, path, mode in _FILES]
    secret: Json = {"secretName": f"{draft.name}-{_KEYS}", "items": items}
    return {"name": _KEYS, "secret": secret | ({"defaultMode": 0o400} if modes else {})}


def _objects(draft: Draft) -> Iterator[Json]:
    private, public = ssh_keys(f"{draft.namespace}/{draft.name}" if draft.fixed_keys else "")
    data = {"ssh-privatekey": private, "ssh-publickey": public}
    encoded = {name: b64encode(text.encode()).decode() for name, text in data.items()}
    kind = {"type": "kubernetes.io/ssh-auth", "immutable": True}
    yield draft.owned("v1", "Secret", f"{draft.name}-{_KEYS}", data=encoded, **kind)
    yield draft.owned("v1", "ConfigMap", f"{draft.name}-{_HOSTS}", data={"hostfile": _host_file(draft)})


def _host_file(draft: Draft) -> str:
    """One line for each host, in the order of the runtime's replicated jobs."""
    if _policy(draft)["mpiImplementation"] != "OpenMPI":
        return ""
    slots = _slots(draft)
    roles = [each for each in draft.roles if each.name == NODE or (draft.launcher_is_node and each.name == LAUNCHER)]
    return "".join(f"{host} slots={slots}\n" for role in roles for host in draft.endpoints(role))


POLICY = Policy(_applies, _check, _enforce, _objects)
