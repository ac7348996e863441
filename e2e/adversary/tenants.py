"""Namespaces with a tenant in each, what others have made there, and who has which rights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from e2e.adversary.steps import KIND_OF, PATHS
from e2e.harness.client import Api
from e2e.harness.jobs import NO_SCHEDULER

Object = dict[str, Any]
Rights = frozenset[tuple[str, ...]]
"""What an account may do in a namespace, a rule each: groups, resources, names, verbs."""
Key = tuple[str, str]
"""Resource and name of an object."""

TENANT: Final = "tenant"
TENANT_ROLES: Final = ("edit", "kubeflow-training-edit")
"""What Kubeflow's users have in their namespaces."""
RBAC: Final = "rbac.authorization.k8s.io"


def user(namespace: str, account: str) -> str:
    """How the API server calls a service account."""
    return f"system:serviceaccount:{namespace}:{account}"


def collection(namespace: str, resource: str) -> str:
    """The path of the objects of a resource."""
    return f"{PATHS[resource]}/namespaces/{namespace}/{resource}"


def foreign() -> Iterable[tuple[str, Object]]:
    """What others have made in a tenant's namespace, with names that the jobs of the tenant would use, too."""
    pod = {"containers": [{"name": "db", "image": "example.com/db:1"}], "schedulerName": NO_SCHEDULER}
    wide = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    ref = {"apiGroup": RBAC, "kind": "Role", "name": "ci-launcher"}
    subject = {"apiGroup": RBAC, "kind": "User", "name": "carol"}
    scaled = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db-worker"}
    yield "pods", {"metadata": {"name": "db-worker-0"}, "spec": pod}
    yield "services", {"metadata": {"name": "db-master-0"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}}
    yield "configmaps", {"metadata": {"name": "vic-config"}, "data": {"kubexec.sh": "#!/bin/sh\necho foreign"}}
    yield "serviceaccounts", {"metadata": {"name": "ci"}}
    yield "roles", {"metadata": {"name": "ci-launcher"}, "rules": wide}
    yield "rolebindings", {"metadata": {"name": "db-launcher"}, "roleRef": ref, "subjects": [subject]}
    yield (
        "horizontalpodautoscalers",
        {"metadata": {"name": "vic"}, "spec": {"maxReplicas": 2, "scaleTargetRef": scaled}},
    )
    yield "leases", {"metadata": {"name": "x"}, "spec": {"holderIdentity": "db"}}


async def make_namespace(api: Api, name: str) -> None:
    """A namespace with a tenant, his rights, and what others have there."""
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.create(collection(name, "serviceaccounts"), {"metadata": {"name": TENANT}})
    subject = {"kind": "ServiceAccount", "name": TENANT, "namespace": name}
    bindings = [
        {"metadata": {"name": role}, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}}
        for role in TENANT_ROLES
    ]
    await asyncio.gather(
        *(api.create(collection(name, "rolebindings"), {**each, "subjects": [subject]}) for each in bindings),
        *(api.create(collection(name, resource), body) for resource, body in foreign()),
    )


async def objects(api: Api, namespace: str, wanted: Iterable[str] = PATHS) -> dict[Key, Object]:
    """Everything in a namespace that the operator could read or write, but for events, which only come."""
    resources = [resource for resource in wanted if resource != "events"]
    lists = await asyncio.gather(*(api.call("GET", collection(namespace, resource)) for resource in resources))
    return {
        (resource, each["metadata"]["name"]): each
        for resource, found in zip(resources, lists, strict=True)
        for each in found["items"]
    }


def content(obj: Object) -> Object:
    """What only another client's change would change: no versions, no status that the controller manager writes."""
    versions = ("resourceVersion", "managedFields", "generation")
    meta = {key: value for key, value in obj["metadata"].items() if key not in versions}
    status = {} if "scaleTargetRef" in obj.get("spec", ()) else obj.get("status")
    return {**obj, "metadata": meta, "status": status}


def controller(obj: Object) -> Object:
    """The reference to what controls an object, empty if nothing does."""
    return next((ref for ref in obj["metadata"].get("ownerReferences", ()) if ref.get("controller")), {})


def of_a_job(obj: Object) -> bool:
    """Whether a job, or an owner reference that claims so, owns an object; jobs are their makers' own."""
    owners = obj["metadata"].get("ownerReferences", ())
    return obj.get("kind") in KIND_OF.values() or any(ref["kind"] in KIND_OF.values() for ref in owners)


@dataclass(frozen=True, slots=True)
class Account:
    """A service account."""

    namespace: str
    name: str

    async def rights(self, api: Api, namespace: str) -> Rights:
        """What `kubectl auth can-i --list` tells this account of a namespace."""
        question = {"spec": {"namespace": namespace}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        told = (await api.acting_as(user(self.namespace, self.name)).create(path, question))["status"]
        assert not told.get("evaluationError") or "not found" in told["evaluationError"], told
        parts = ("apiGroups", "resources", "resourceNames", "verbs")
        return frozenset(
            tuple(",".join(sorted(rule.get(part, ()))) for part in parts) for rule in told["resourceRules"]
        )


async def all_rights(
    api: Api, accounts: Iterable[Account], namespaces: Iterable[str]
) -> dict[tuple[Account, str], Rights]:
    """The rights of each account in each namespace."""
    pairs = [(account, namespace) for account in accounts for namespace in namespaces]
    found = await asyncio.gather(*(account.rights(api, namespace) for account, namespace in pairs))
    return dict(zip(pairs, found, strict=True))


async def accounts_of(api: Api, namespace: str) -> list[Account]:
    """The accounts of a namespace."""
    found = (await api.call("GET", collection(namespace, "serviceaccounts")))["items"]
    return [Account(namespace, each["metadata"]["name"]) for each in found]
