"""A client for tests: plain JSON over a transport, any rejection is an error of the test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from training_api.registry import KINDS
from training_operator.kube.transport import JSON, MERGE_PATCH, Request, Transport

Json = dict[str, Any]


class Rejected(AssertionError):
    """The API server rejected a request of the test."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status


class Api:
    """Verbs on objects by kind, namespace `default` unless the object says otherwise."""

    PATHS: Mapping[str, tuple[str, str]] = {
        "Pod": ("/api/v1", "pods"),
        "Service": ("/api/v1", "services"),
        "Event": ("/api/v1", "events"),
        "ResourceQuota": ("/api/v1", "resourcequotas"),
        "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
        "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
        "ConfigMap": ("/api/v1", "configmaps"),
        "Secret": ("/api/v1", "secrets"),
        "ServiceAccount": ("/api/v1", "serviceaccounts"),
        "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
        "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
        "PodGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
        "CoschedulingPodGroup": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups"),
        **{info.kind: ("/apis/kubeflow.org/v1", info.plural) for info in KINDS.values()},
    }

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def create(self, obj: Json) -> Json:
        return await self.send("POST", self.path(obj["kind"], namespace=_namespace(obj)), obj)

    async def get(self, kind: str, name: str, namespace: str = "default") -> Json | None:
        try:
            return await self.send("GET", self.path(kind, name, namespace=namespace))
        except Rejected as rejected:
            if rejected.status == 404:
                return None
            raise

    async def list(self, kind: str, namespace: str = "default") -> list[Json]:
        return list((await self.send("GET", self.path(kind, namespace=namespace)))["items"])

    async def patch(self, kind: str, name: str, patch: Json, subresource: str = "", namespace: str = "default") -> Json:
        path = self.path(kind, name, subresource, namespace)
        return await self.send("PATCH", path, patch, content_type=MERGE_PATCH)

    async def delete(self, kind: str, name: str, namespace: str = "default", **options: Any) -> None:
        await self.send("DELETE", self.path(kind, name, namespace=namespace), options)

    async def send(self, method: str, path: str, body: Json | None = None, content_type: str = JSON) -> Json:
        raw = None if body is None else json.dumps(body).encode()
        answer = await self.transport.request(Request(method, path, body=raw, content_type=content_type))
        decoded: Json = json.loads(answer.body)
        if answer.status >= 300:
            raise Rejected(answer.status, decoded)
        return decoded

    def path(self, kind: str, name: str = "", subresource: str = "", namespace: str = "default") -> str:
        root, plural = self.PATHS[kind]
        parts = [root, "namespaces", namespace, plural, name, subresource]
        return "/".join(part for part in parts if part)


def _namespace(obj: Json) -> str:
    return str(obj["metadata"].get("namespace", "default"))
