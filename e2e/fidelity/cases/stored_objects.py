"""Config maps, secrets, claims, quotas, roles, leases, priority classes: defaults and rejections."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player
from e2e.support.objects import config_map

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def _object(kind: str, api_version: str = "v1", name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


async def config_maps(api: Player) -> None:
    await api.post("configmaps", config_map("a", {"a/b": "1"}))
    # One bad key each: the real server goes through the keys in an order of chance.
    await api.post("configmaps", config_map("a", {"..": "1"}))
    await api.post("configmaps", config_map("a", {"..a": "2"}))
    await api.post("configmaps", {**config_map("a"), "binaryData": {"a": "AA=="}})
    await api.post("configmaps", {**config_map("a"), "binaryData": {"b": "??"}})
    await api.post("configmaps", config_map("a", {"a": "x" * (1024 * 1024 + 1)}))
    await api.post("configmaps", {**config_map("a"), "data": {"a": 1}})
    await api.post("configmaps", {**config_map("a"), "data": {}})


async def immutable_config_maps(api: Player) -> None:
    await api.quietly("POST", "configmaps", {**config_map("a"), "immutable": True})
    await api.patch("configmaps/a", {"data": {"a": "2"}})
    await api.patch("configmaps/a", {"immutable": False})
    await api.patch("configmaps/a", {"metadata": {"labels": {"a": "b"}}})


async def secrets(api: Player) -> None:
    await api.post("secrets", _object("Secret", stringData={"a": "b"}, data={"c": "ZA=="}))
    await api.post("secrets", _object("Secret", name="b"))
    await api.post("secrets", _object("Secret", name="c", data={"a": "not base64"}))
    await api.post("secrets", _object("Secret", name="c", data={"a b": "ZA=="}))
    await api.post("secrets", _object("Secret", name="c", type="kubernetes.io/tls"))
    await api.post("secrets", _object("Secret", name="c", type="kubernetes.io/basic-auth"))
    await api.post("secrets", _object("Secret", name="c", type="kubernetes.io/dockerconfigjson"))
    await api.patch("secrets/a", {"type": "other"})
    await api.patch("secrets/a", {"stringData": {"a": "changed"}})


async def service_accounts(api: Player) -> None:
    await api.post("serviceaccounts", _object("ServiceAccount"))
    secret = [{"name": "s"}]
    await api.post("serviceaccounts", _object("ServiceAccount", name="b", imagePullSecrets=secret))


async def claims(api: Player) -> None:
    size = {"requests": {"storage": "1024Mi"}}
    once = ["ReadWriteOnce"]
    await api.post("persistentvolumeclaims", _object("PersistentVolumeClaim", spec={}))
    await api.post(
        "persistentvolumeclaims", _object("PersistentVolumeClaim", spec={"accessModes": ["Mine"], "resources": size})
    )
    zero = {"requests": {"storage": "0"}}
    await api.post(
        "persistentvolumeclaims", _object("PersistentVolumeClaim", spec={"accessModes": once, "resources": zero})
    )
    good = _object("PersistentVolumeClaim", spec={"accessModes": once, "resources": size})
    answer = await api.quietly("POST", "persistentvolumeclaims", good, dryRun="All")
    api.note("claim", {name: answer.body[name] for name in ("spec", "status")})


async def quotas(api: Player) -> None:
    await api.post("resourcequotas", _object("ResourceQuota", spec={"hard": {"pods": "4"}}), dryRun="All")
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}
    await api.post("limitranges", _object("LimitRange", spec={"limits": [item]}), dryRun="All")


async def leases(api: Player) -> None:
    collection = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    version = "coordination.k8s.io/v1"
    moment = "2024-01-02T03:04:05.678901Z"
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": moment, "leaseTransitions": 0}
    await api.post(collection, _object("Lease", version, spec=spec))
    await api.post(collection, _object("Lease", version, name="b", spec={"leaseDurationSeconds": 0}))
    await api.post(collection, _object("Lease", version, name="b", spec={"renewTime": "2024-01-02T03:04:05Z"}))
    await api.post(collection, _object("Lease", version, name="c", spec={"renewTime": "now"}))
    await api.post(collection, _object("Lease", version, name="c"))


async def roles(api: Player) -> None:
    collection = f"{RBAC}/namespaces/{api.namespace}/roles"
    version = "rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    await api.post(collection, _object("Role", version, rules=[rule]))
    await api.post(collection, _object("Role", version, name="b"))
    await api.post(collection, _object("Role", version, name="c", rules=[{}]))
    await api.post(
        collection, _object("Role", version, name="c", rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}])
    )
    await api.post(collection, _object("Role", version, name="Any:Name", rules=[rule]))
    await api.post(collection, _object("Role", version, name="a%b", rules=[rule]))


async def role_bindings(api: Player) -> None:
    collection = f"{RBAC}/namespaces/{api.namespace}/rolebindings"
    version = "rbac.authorization.k8s.io/v1"
    role = {"kind": "Role", "name": "r"}
    subjects = [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "u"}]
    await api.post(collection, _object("RoleBinding", version, roleRef=role, subjects=subjects))
    await api.post(collection, _object("RoleBinding", version, name="b", roleRef={"kind": "X"}))
    await api.post(collection, _object("RoleBinding", version, name="b", roleRef=role, subjects=[{"kind": "Pod"}]))
    await api.patch(f"{collection}/a", {"roleRef": {"name": "other"}})


async def priority_classes(api: Player) -> None:
    collection = "/apis/scheduling.k8s.io/v1/priorityclasses"
    version = "scheduling.k8s.io/v1"
    name = api.namespace
    await api.post(collection, _object("PriorityClass", version, name=name, value=5), dryRun="All")
    await api.post(collection, _object("PriorityClass", version, name=name, value=2_000_000_000))
    await api.post(collection, _object("PriorityClass", version, name="system-x", value=5))
    await api.post(collection, _object("PriorityClass", version, name=name, value=5, preemptionPolicy="X"))


async def nodes(api: Player) -> None:
    status = {"capacity": {"cpu": "2", "memory": "4096Mi"}}
    answer = await api.quietly(
        "POST", "/api/v1/nodes", _object("Node", name=api.namespace, status=status), dryRun="All"
    )
    api.note("status", answer.body["status"])


async def namespaces(api: Player) -> None:
    await api.post("/api/v1/namespaces", _object("Namespace", name=f"{api.namespace}-x"), dryRun="All")
    for name in ("a.b", "A", "a" * 64):
        await api.post("/api/v1/namespaces", _object("Namespace", name=name), dryRun="All")
