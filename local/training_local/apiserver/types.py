"""The builtin resource types that the server serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from training_local.apiserver import reviews
from training_local.apiserver.builtin import columns
from training_local.apiserver.builtin.access import binding_rules, role_rules
from training_local.apiserver.builtin.autoscalers import AUTOSCALER_RULES
from training_local.apiserver.builtin.cluster_objects import (
    LEASE_RULES,
    LIMIT_RANGE_RULES,
    NAMESPACE_RULES,
    NODE_RULES,
    PRIORITY_CLASS_RULES,
    QUOTA_RULES,
)
from training_local.apiserver.builtin.configuration import (
    CLAIM_RULES,
    CONFIG_MAP_RULES,
    SECRET_RULES,
    SERVICE_ACCOUNT_RULES,
)
from training_local.apiserver.builtin.crds import CRD_RULES
from training_local.apiserver.builtin.events import CORE_EVENT_RULES, NEW_EVENT_RULES, EventConversion
from training_local.apiserver.builtin.pod_columns import POD_COLUMNS
from training_local.apiserver.builtin.pods import POD_RULES
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.builtin.schemas import component_schemas
from training_local.apiserver.builtin.services import SERVICE_RULES
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Column, ResourceType

Value = Callable[[Json], str]


def at(path: str, default: str = "") -> Value:
    """Return a reader of the field at `path`, as text."""
    keys = path.split(".")

    def value(obj: Json) -> str:
        found: Any = obj
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return default if found is None else str(found).lower() if isinstance(found, bool) else str(found)

    return value


def _fields(*paths: str, **defaults: str) -> Mapping[str, Value]:
    return {path: at(path, defaults.get(path.rpartition(".")[2], "")) for path in paths}


def _pod_addresses(pod: Json) -> str:
    return ",".join(each.get("ip", "") for each in pod.get("status", {}).get("podIPs", ()))


POD_FIELDS = {
    **_fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
        hostNetwork="false",
    ),
    "status.podIPs": _pod_addresses,
}
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT_FIELDS = {
    **_fields(*(f"involvedObject.{name}" for name in _ABOUT), "reason", "reportingComponent", "type"),
    "source": lambda event: event.get("source", {}).get("component") or event.get("reportingComponent", ""),
}
NEW_EVENT_FIELDS = {
    **{f"regarding.{name}": at(f"regarding.{name}") for name in _ABOUT},
    **_fields("reason", "reportingController", "type"),
}


def _builtin(group: str, plural: str, rules: BuiltinRules, listed: tuple[Column, ...], **more: Any) -> ResourceType:
    schema = component_schemas()[rules.component]
    if rules.has_status:
        more["subresources"] = frozenset({"status", *more.get("subresources", ())})
    return ResourceType(
        group=group,
        version=rules.version,
        kind=rules.kind,
        plural=plural,
        singular=rules.kind.lower(),
        rules=rules,
        columns=listed,
        schema=schema,
        **more,
    )


_RBAC = "rbac.authorization.k8s.io"
_NO_COLLECTION = frozenset({"create", "delete", "get", "list", "patch", "update", "watch"})
_ALL = ("all",)

CORE = (
    _builtin(
        "",
        "pods",
        POD_RULES,
        POD_COLUMNS,
        short_names=("po",),
        categories=_ALL,
        subresources=("log", "exec", "portforward", "binding", "eviction"),
        generation=True,
        returns_deleted=True,
        selectable=POD_FIELDS,
    ),
    _builtin(
        "",
        "services",
        SERVICE_RULES,
        columns.SERVICE_COLUMNS,
        short_names=("svc",),
        categories=_ALL,
        names="label1035",
        create_on_update=True,
        returns_deleted=True,
        selectable=_fields("spec.clusterIP", "spec.type"),
    ),
    _builtin(
        "",
        "namespaces",
        NAMESPACE_RULES,
        columns.NAMESPACE_COLUMNS,
        short_names=("ns",),
        subresources=("finalize",),
        namespaced=False,
        names="label",
        verbs=_NO_COLLECTION,
        returns_deleted=True,
        selectable=_fields("status.phase"),
    ),
    _builtin("", "configmaps", CONFIG_MAP_RULES, columns.CONFIG_MAP_COLUMNS, short_names=("cm",)),
    _builtin("", "secrets", SECRET_RULES, columns.SECRET_COLUMNS, selectable=_fields("type")),
    _builtin(
        "",
        "serviceaccounts",
        SERVICE_ACCOUNT_RULES,
        columns.SERVICE_ACCOUNT_COLUMNS,
        short_names=("sa",),
        subresources=frozenset({"token"}),
        returns_deleted=True,
    ),
    _builtin(
        "",
        "events",
        CORE_EVENT_RULES,
        columns.EVENT_COLUMNS,
        short_names=("ev",),
        create_on_update=True,
        selectable=EVENT_FIELDS,
    ),
    _builtin(
        "",
        "nodes",
        NODE_RULES,
        columns.NODE_COLUMNS,
        short_names=("no",),
        namespaced=False,
        selectable=_fields("spec.unschedulable", unschedulable="false"),
    ),
    _builtin(
        "",
        "persistentvolumeclaims",
        CLAIM_RULES,
        columns.CLAIM_COLUMNS,
        short_names=("pvc",),
        returns_deleted=True,
    ),
    _builtin("", "resourcequotas", QUOTA_RULES, columns.QUOTA_COLUMNS, short_names=("quota",), returns_deleted=True),
    _builtin(
        "",
        "limitranges",
        LIMIT_RANGE_RULES,
        columns.DEFAULT_COLUMNS,
        short_names=("limits",),
        create_on_update=True,
    ),
)
# Groups in the order in which the real server lists them.
OTHERS = (
    _builtin(
        "events.k8s.io",
        "events",
        NEW_EVENT_RULES,
        columns.NEW_EVENT_COLUMNS,
        short_names=("ev",),
        create_on_update=True,
        selectable=NEW_EVENT_FIELDS,
        conversion=EventConversion(),
        stored_as=("", "events"),
    ),
    *reviews.AUTHENTICATION,
    *reviews.AUTHORIZATION,
    _builtin(
        "autoscaling",
        "horizontalpodautoscalers",
        AUTOSCALER_RULES,
        columns.AUTOSCALER_COLUMNS,
        short_names=("hpa",),
        categories=_ALL,
    ),
    *(
        _builtin(
            _RBAC,
            f"{kind.lower()}s",
            role_rules(kind),
            columns.DEFAULT_COLUMNS,
            namespaced=kind == "Role",
            names="path-segment",
            create_on_update=True,
        )
        for kind in ("Role", "ClusterRole")
    ),
    *(
        _builtin(
            _RBAC,
            f"{kind.lower()}s",
            binding_rules(kind),
            columns.BINDING_COLUMNS,
            namespaced=kind == "RoleBinding",
            names="path-segment",
            create_on_update=True,
        )
        for kind in ("RoleBinding", "ClusterRoleBinding")
    ),
    _builtin(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        CRD_RULES,
        columns.DEFAULT_COLUMNS,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        namespaced=False,
        unconditional_update=False,
        generation=True,
    ),
    _builtin(
        "scheduling.k8s.io",
        "priorityclasses",
        PRIORITY_CLASS_RULES,
        columns.PRIORITY_CLASS_COLUMNS,
        short_names=("pc",),
        namespaced=False,
        generation=True,
    ),
    _builtin(
        "coordination.k8s.io",
        "leases",
        LEASE_RULES,
        columns.LEASE_COLUMNS,
        create_on_update=True,
        unconditional_update=False,
    ),
)
BUILTIN: tuple[ResourceType, ...] = (*CORE, *OTHERS)
