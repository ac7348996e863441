"""What the API server fills into a pod's spec when it reads one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from training_api import quantity
from training_local.apiserver.errors import Json

FILE_MODE = 0o644
_REPOSITORY = re.compile(r"([^/]*[.:A-Z][^/]*/|localhost/)?[a-z0-9][-._/a-z0-9]*(:|$)")


def default_pod(pod: Json) -> None:
    """Fill in the defaults of a pod, in place."""
    spec = pod.get("spec")
    if spec is None:
        return
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    _default_service_account(spec)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in all_containers(spec):
        _default_container(container)
    if spec.get("hostNetwork"):
        for container in all_containers(spec):
            for port in container.get("ports", ()):
                port.setdefault("hostPort", port.get("containerPort"))
    _default_addresses(pod.get("status") or {})


def all_containers(spec: Json) -> Iterator[Json]:
    """Iterate over regular and init containers."""
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers", ())


def pull_policy(image: str) -> str:
    """Return the image pull policy if none is given: always for the tag `latest`, given or meant."""
    reference, at, _ = image.partition("@")
    if not _REPOSITORY.match(reference):
        return "IfNotPresent"  # as the real server: a name that it cannot read has no tag
    tag = reference.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if (tag and tag != "latest") or (at and not tag) else "Always"


def _default_service_account(spec: Json) -> None:
    """Keep the old name of the field equal to the new one."""
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _default_container(container: Json) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        _default_field_reference(variable.get("valueFrom"))
    _default_resources(container["resources"])
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _default_http_get(handler)


def _default_resources(resources: Json) -> None:
    limits, requests = resources.get("limits"), resources.get("requests")
    if limits:
        requests = resources["requests"] = {**limits, **(requests or {})}
    for listed in (limits or {}, requests or {}):
        for name, value in listed.items():
            listed[name] = quantity.at_least_milli(value)


def _default_probe(probe: Json) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        probe.setdefault(name, value)
    _default_http_get(probe)
    if (call := probe.get("grpc")) is not None and call.get("service") is None:
        call["service"] = ""


def _default_http_get(handler: Json) -> None:
    if (get := handler.get("httpGet")) is not None:
        get.setdefault("path", "/")
        get.setdefault("scheme", "HTTP")


def _default_field_reference(source: Json | None) -> None:
    if source and (reference := source.get("fieldRef")) is not None:
        reference.setdefault("apiVersion", "v1")


def _default_volume(volume: Json) -> None:
    if len(volume) <= 1 and "name" in volume:
        volume["emptyDir"] = {}
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if (source := volume.get(kind)) is not None:
            source.setdefault("defaultMode", FILE_MODE)
            _default_files(source)
    if (path := volume.get("hostPath")) is not None:
        path.setdefault("type", "")
    if (image := volume.get("image")) is not None:
        image.setdefault("pullPolicy", pull_policy(image.get("reference", "")))
    if (claim := volume.get("ephemeral", {}).get("volumeClaimTemplate")) is not None:
        claim["spec"].setdefault("volumeMode", "Filesystem")


def _default_files(source: Json) -> None:
    for item in source.get("items", ()):
        _default_field_reference(item)
    for part in source.get("sources", ()):
        if (token := part.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)
        for item in part.get("downwardAPI", {}).get("items", ()):
            _default_field_reference(item)


def _default_addresses(status: Json) -> None:
    """Keep the single address and the first of the list equal."""
    address, listed = status.get("podIP"), status.get("podIPs")
    if address and (not listed or listed[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif listed and not address:
        status["podIP"] = listed[0].get("ip")
