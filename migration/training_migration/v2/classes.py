"""Which values of an object may differ between what is predicted and what a cluster has, and why."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Final

from training_migration.v2.quantities import containers_of, write_canonically

Json = dict[str, Any]


class ValueClass(StrEnum):
    """How a value is compared."""

    EXACT = "exact"
    UNORDERED = "unordered"
    """A list whose order says nothing: plugins run in random order."""
    GENERATED = "generated"
    """Given out by chance: numbers, ends of names, keys, times."""
    ENVIRONMENT = "environment"
    """Added by the API server's defaults or by admission."""


_ANY: Final = object()

_POD_SPEC: Final = re.compile(r"^spec\.(?:(?:replicatedJobs\[\]\.template\.spec\.)?template\.spec\.)?(?=\w)")
"""From the root of a Pod, Job or JobSet to its pod spec."""

_GENERATED: Final = re.compile(
    r"^metadata\.(uid|resourceVersion|creationTimestamp|generation|managedFields|selfLink)\b"
    r"|^status\b"
    r"|\.ownerReferences\[\]\.uid$"
    r"|\.(labels|annotations|matchLabels)\.(batch\.kubernetes\.io/|jobset\.sigs\.k8s\.io/)?(controller-uid|jobset-uid)$"
    r"|\.creationTimestamp$"
    r"|^spec\.(clusterIPs|ipFamilies)\b"
)
_GENERATED_OF: Final = {
    "Pod": re.compile(r"^metadata\.name$|^spec\.nodeName$"),
    "Secret": re.compile(r"^(data|stringData)\."),
    "ConfigMap": re.compile(r"^data\.runtime$"),
}
"""The snapshot's text has the runtime's own server metadata."""

_UNORDERED: Final = re.compile(r"\.(env|volumes|volumeMounts|imagePullSecrets|ownerReferences|finalizers)$")

_IMAGE: Final = re.compile(
    r"(?:(?:[A-Za-z0-9][\w.-]*\.[\w.-]*|localhost|[A-Za-z0-9.-]+(?=:\d+/))(?::\d+)?/)?"  # registry
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"  # path
    r"(?::\w[\w.-]{0,127})?(?:@\w+(?:[+._-]\w+)*:[0-9a-fA-F]{32,})?"
)
"""Reference of an image, as registries define it."""

_FILLED_IN: Final[tuple[tuple[str, object], ...]] = (
    (r"terminationGracePeriodSeconds", 30),
    (r"dnsPolicy", "ClusterFirst"),
    (r"schedulerName", "default-scheduler"),
    (r"enableServiceLinks", True),
    (r"preemptionPolicy", _ANY),
    (r"priority", _ANY),
    (r"serviceAccountName", "default"),
    (r"serviceAccount", _ANY),
    (r"containers\[\]\.terminationMessagePath", "/dev/termination-log"),
    (r"containers\[\]\.terminationMessagePolicy", "File"),
    (r"containers\[\]\.ports\[\]\.protocol", "TCP"),
    (r"containers\[\]\.env\[\]\.value", ""),
    (r"containers\[\]\.env\[\]\.valueFrom\.fieldRef\.apiVersion", "v1"),
    (r"containers\[\]\.env\[\]\.valueFrom\.resourceFieldRef\.divisor", "0"),
    (r"containers\[\]\.env\[\]\.valueFrom\.resourceFieldRef\.containerName", ""),
    (r"containers\[\]\.\w+Probe\.timeoutSeconds", 1),
    (r"containers\[\]\.\w+Probe\.periodSeconds", 10),
    (r"containers\[\]\.\w+Probe\.successThreshold", 1),
    (r"containers\[\]\.\w+Probe\.failureThreshold", 3),
    (r"containers\[\]\.\w+Probe\.grpc\.service", ""),
    (r"containers\[\].*\.httpGet\.scheme", "HTTP"),
    (r"containers\[\].*\.httpGet\.path", "/"),
    (r"volumes\[\]\.(configMap|secret|projected|downwardAPI)\.defaultMode", 0o644),
    (r"volumes\[\]\.hostPath\.type", ""),
    (r"volumes\[\].*\.fieldRef\.apiVersion", "v1"),
    (r"volumes\[\]\.projected\.sources\[\]\.serviceAccountToken\.expirationSeconds", 3600),
    (r"volumes\[\]\.ephemeral\.volumeClaimTemplate\.spec\.volumeMode", "Filesystem"),
)
"""Path in the pod spec, and the value that the API server gives."""

_FILLED_IN_OF: Final[dict[str, tuple[tuple[str, object], ...]]] = {
    "Job": (
        (r"spec\.backoffLimit", 6),
        (r"spec\.manualSelector", False),
        (r"spec\.podFailurePolicy\.rules\[\]\.onPodConditions\[\]\.status", "True"),
    ),
    "JobSet": ((r"spec\.failurePolicy\.maxRestarts", 0), (r"spec\.coordinator\.(jobIndex|podIndex)", 0)),
    "Pod": ((r"metadata\.labels\.jobset\.sigs\.k8s\.io/priority", _ANY),),  # the number of its class of priority
    "PersistentVolumeClaim": ((r"spec\.volumeMode", "Filesystem"), (r"metadata\.finalizers(\[\])?", _ANY)),
    "Service": (
        (r"spec\.(clusterIPs|ipFamilies)(\[\])?", _ANY),
        (r"spec\.ipFamilyPolicy", _ANY),
        (r"spec\.internalTrafficPolicy", "Cluster"),
        (r"spec\.sessionAffinity", "None"),
        (r"spec\.type", "ClusterIP"),
        (r"spec\.publishNotReadyAddresses", False),
    ),
    "PodGroup": ((r"spec\.queue", "default"), (r"spec\.minTaskMember", _ANY)),
}


def value_class(kind: str, path: str, value: object = None) -> ValueClass:
    """Class of a value of an object of this kind; items of lists are `[]` in the path (`spec.volumes[].name`)."""
    if _GENERATED.search(path) or (kind in _GENERATED_OF and _GENERATED_OF[kind].search(path)):
        return ValueClass.GENERATED
    if _filled_in(_FILLED_IN_OF.get(kind, ()), path, value) or _is_of_environment(path, value):
        return ValueClass.ENVIRONMENT
    if isinstance(value, list) and _UNORDERED.search(path):
        return ValueClass.UNORDERED
    return ValueClass.EXACT


def comparable(obj: Json) -> Json:
    """Only what two objects must have in common to be the same: exact values, and unordered lists in one order."""
    copy = json.loads(json.dumps(obj))
    if copy["kind"] == "Pod":
        write_canonically(copy["spec"])
        for container in containers_of(copy["spec"]):
            _request_limits(container)
            if copy["spec"].get("hostNetwork"):
                _open_on_host(container)
    if copy["kind"] == "Job":
        replaced = "Failed" if copy["spec"].get("podFailurePolicy") else "TerminatingOrFailed"
        copy["spec"].setdefault("podReplacementPolicy", replaced)
    for pod_spec in _pod_specs(copy):
        for container in containers_of(pod_spec):
            container.setdefault("imagePullPolicy", default_pull_policy(container.get("image") or ""))
    return dict(_kept(copy["kind"], copy, ""))


def _pod_specs(obj: Json) -> list[Json]:
    if obj["kind"] == "Pod":
        return [obj["spec"]]
    return [obj["spec"]["template"]["spec"]] if obj["kind"] == "Job" else []


def default_pull_policy(image: str) -> str:
    """When the API server lets an image be pulled: always, if it is the latest and a reference that can be read."""
    if not _IMAGE.fullmatch(image):
        return "IfNotPresent"
    name, digest, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _kept(kind: str, value: Any, path: str) -> Any:
    """The value without what may differ, and without what is empty; `None` for nothing."""
    found = value_class(kind, path, value)
    if found in (ValueClass.GENERATED, ValueClass.ENVIRONMENT):
        return None
    if isinstance(value, dict):
        items = {name: _kept(kind, each, f"{path}.{name}" if path else name) for name, each in value.items()}
        return {name: each for name, each in items.items() if each is not None} or _hollow(path)
    if isinstance(value, list):
        kept = [each for each in (_kept(kind, item, f"{path}[]") for item in value) if each is not None]
        if found is ValueClass.UNORDERED:
            kept.sort(key=lambda each: json.dumps(each, sort_keys=True))
        return kept or None
    return value


def _hollow(path: str) -> Json | None:
    """An empty object means something only where it says which kind of thing its parent is."""
    return {} if re.search(r"\.volumes\[\]\.\w+$", path) else None


def _filled_in(table: tuple[tuple[str, object], ...], path: str, value: object) -> bool:
    return any((default is _ANY or value == default) and re.fullmatch(name, path) for name, default in table)


def _is_of_environment(path: str, value: object) -> bool:
    """Whether the API server's defaults for pods or its admission give this."""
    inner, found = _POD_SPEC.subn("", path)
    if not found:
        return False
    inner = inner.replace("initContainers[]", "containers[]")
    if inner in ("volumes[]", "containers[].volumeMounts[]"):
        return isinstance(value, dict) and str(value.get("name", "")).startswith("kube-api-access-")
    if inner == "tolerations[]":
        return isinstance(value, dict) and str(value.get("key", "")).startswith("node.kubernetes.io/")
    return _filled_in(_FILLED_IN, inner, value)


def _request_limits(container: Json) -> None:
    """In a pod, limits stand in for requests that are absent."""
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _open_on_host(container: Json) -> None:
    """In a pod on the host's network, ports are the host's."""
    for port in container.get("ports") or ():
        port.setdefault("hostPort", port["containerPort"])
