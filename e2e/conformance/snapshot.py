"""The state of one namespace, with everything that differs from run to run replaced."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from e2e.harness.client import Api, Object

COLLECTIONS = {
    "pods": "/api/v1/namespaces/{}/pods",
    "services": "/api/v1/namespaces/{}/services",
    "configmaps": "/api/v1/namespaces/{}/configmaps",
    "serviceaccounts": "/api/v1/namespaces/{}/serviceaccounts",
    "roles": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "horizontalpodautoscalers": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
    "podgroups.volcano": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups",
    "podgroups.x-k8s": "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups",
}
"""What an operator creates for a job; a collection that the server does not serve is left out of a snapshot."""
EVENTS = "/api/v1/namespaces/{}/events"

MADE_BY_THE_CLUSTER = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
RUN_DEPENDENT = {"managedFields", "resourceVersion", "selfLink", "generation", "clusterIPs", "lastUpdateTime"}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


async def take(api: Api, namespace: str, job_path: str) -> dict[str, Any]:
    """The job, all that belongs to it, and the events of the namespace."""
    job, events, *lists = await asyncio.gather(
        api.get(job_path),
        api.get(EVENTS.format(namespace)),
        *(api.get(path.format(namespace)) for path in COLLECTIONS.values()),
    )
    state: dict[str, Any] = {"job": None if job is None else scrub(_of_interest(job), namespace)}
    for name, found in zip(COLLECTIONS, lists, strict=True):
        if found is not None:
            state[name] = [
                scrub({key: value for key, value in item.items() if key not in ("apiVersion", "kind")}, namespace)
                for item in found["items"]
                if (name, item["metadata"]["name"]) not in MADE_BY_THE_CLUSTER
            ]
    told = (events or {"items": []})["items"]
    state["events"] = sorted({_event(event, namespace) for event in told if not _by_the_cluster(event)})
    return state


def scrub(value: Any, namespace: str) -> Any:
    """`value` with placeholders for namespace, uids and times, and without versions and cluster addresses."""
    match value:
        case dict():
            kept = {k: v for k, v in value.items() if k not in RUN_DEPENDENT and (k != "clusterIP" or v == "None")}
            return {k: "<uid>" if k == "uid" else scrub(v, namespace) for k, v in kept.items()}
        case list():
            return [scrub(item, namespace) for item in value]
        case str():
            return TIMESTAMP.sub("<time>", value.replace(namespace, "<ns>"))
    return value


def _of_interest(job: Object) -> dict[str, Any]:
    return {
        "status": job.get("status"),
        "spec": job.get("spec"),
        "annotations": job["metadata"].get("annotations"),
        "labels": job["metadata"].get("labels"),
    }


def _by_the_cluster(event: Object) -> bool:
    return "HorizontalPodAutoscaler" in event["involvedObject"].values()


def _event(event: Object, namespace: str) -> tuple[str, ...]:
    about = event["involvedObject"]
    return (
        about.get("kind", ""),
        about.get("name", ""),
        event.get("type", ""),
        event.get("reason", ""),
        scrub(event.get("message", ""), namespace),
    )
