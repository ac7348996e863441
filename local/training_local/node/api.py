"""The API server as a node uses it: over a transport, in-process or over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

from training_api.constants import API_VERSION
from training_api.models.common import rfc3339
from training_api.printable import legible
from training_controllers.frameworks.plugins import kinds
from training_local.node.claims import binding
from training_local.node.podspec import Metadata, Wire
from training_operator.kube.transport import JSON, MERGE_PATCH, Request, Response, Transport

_WATCH_SECONDS = 300
_RETRY_SECONDS = 0.5
_REMEMBERED_EVENTS = 4096

_GONE = 410
_NOT_FOUND = 404
_CONFLICT = 409
_INVALID = 422


Followed = Literal["pods", "services", "nodes", "persistentvolumeclaims", "configmaps", "secrets"]


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is now, or, if `gone`, as it was last."""

    object: Wire
    gone: bool = False


class RequestRejected(OSError):
    """The API server rejected a request; the text is its message."""


class _Expired(Exception):
    """The version from which changes were asked for is too old."""


def _path(plural: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    parts = [plural, *(quote(part, safe="") for part in (name, subresource) if part)]
    return f"/api/v1{where}/{'/'.join(parts)}"


class TransportApi:
    """The API server as a node uses it. Methods raise `OSError` when it cannot be reached."""

    def __init__(self, transport: Transport, node_name: str) -> None:
        self._transport = transport
        self._node_name = node_name
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def follow(self, plural: Followed) -> AsyncIterator[Change]:
        """Yield every object there is, then every change, for ever; lost connections are made up for."""
        known: dict[str, Wire] = {}
        version = ""
        while True:
            try:
                if not version:
                    version, listed = await self._list(plural)
                    for vanished in known.keys() - listed.keys():
                        yield Change(known[vanished], gone=True)
                    known = listed
                    for stored in listed.values():
                        yield Change(stored)
                fruitless = True
                async for kind, changed in self._watch(plural, version):
                    fruitless = False
                    version = changed["metadata"]["resourceVersion"]
                    if kind == "BOOKMARK":
                        continue
                    if kind == "DELETED":
                        known.pop(changed["metadata"]["uid"], None)
                    else:
                        known[changed["metadata"]["uid"]] = changed
                    yield Change(changed, gone=kind == "DELETED")
                if fruitless:
                    await asyncio.sleep(_RETRY_SECONDS)
            except _Expired:
                version = ""
            except OSError:
                await asyncio.sleep(_RETRY_SECONDS)

    async def _list(self, plural: str) -> tuple[str, dict[str, Wire]]:
        answer = await self._send(Request("GET", _path(plural)))
        items = answer.get("items") or ()
        return answer["metadata"]["resourceVersion"], {item["metadata"]["uid"]: item for item in items}

    async def _watch(self, plural: str, version: str) -> AsyncIterator[tuple[str, Wire]]:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        request = Request("GET", _path(plural), query, timeout=_WATCH_SECONDS + 15.0)
        async with self._transport.stream(request) as stream:
            if stream.status == _GONE:
                raise _Expired
            if stream.status != 200:
                raise _rejected(request, Response(stream.status, stream.body))
            async for line in stream.lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise _Expired  # whatever it was, starting over cures it
                yield event["type"], event["object"]

    async def get(self, plural: str, namespace: str, name: str) -> Wire | None:
        """Read an object; None if there is none."""
        answer = await self._transport.request(Request("GET", _path(plural, namespace, name)))
        return None if answer.status == _NOT_FOUND else _content(Request("GET", _path(plural, namespace, name)), answer)

    async def owner_annotations(self, pod: Metadata) -> Mapping[str, str]:
        """Read the annotations of the job that controls a pod; none if it is controlled by no job."""
        owner = pod.controller
        if owner is None or owner.api_version != API_VERSION or owner.kind not in kinds():
            return {}
        jobs = f"/apis/{API_VERSION}/namespaces/{quote(pod.namespace, safe='')}/{kinds()[owner.kind].plural}"
        found = await self._send(Request("GET", f"{jobs}/{quote(owner.name, safe='')}"), accepted=(_NOT_FOUND,))
        return (found.get("metadata") or {}).get("annotations") or {}

    async def services(self, namespace: str) -> tuple[int, list[Wire]]:
        """Read the services of a namespace as they are now, and the version of the cluster that has them."""
        found = await self._send(Request("GET", _path("services", namespace)))
        return int(found["metadata"]["resourceVersion"]), list(found.get("items") or ())

    async def register(self, node: Wire) -> None:
        """Create the node object, or bring it and its status up to date."""
        await self._send(_body("POST", _path("nodes"), node), accepted=(_CONFLICT,))
        patch = {"metadata": {"labels": node["metadata"].get("labels")}}
        await self._send(_body("PATCH", _path("nodes", name=self._node_name), patch, MERGE_PATCH))
        status = {"status": node["status"]}
        await self._send(
            _body("PATCH", _path("nodes", name=self._node_name, subresource="status"), status, MERGE_PATCH)
        )

    async def bind(self, pod: Metadata, node_name: str) -> None:
        """Assign a pod to a node; nothing happens if it has gone or is assigned already."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
        }
        request = _body("POST", _path("pods", pod.namespace, pod.name, "binding"), binding)
        await self._send(request, accepted=(_NOT_FOUND, _CONFLICT))

    async def bind_claim(self, claim: Wire) -> None:
        """Mark a volume claim as bound; nothing happens if it is, cannot be or has gone."""
        metadata, patches = claim["metadata"], binding(claim)
        if patches is None:
            return
        for subresource, patch in zip(("", "status"), patches, strict=True):
            path = _path("persistentvolumeclaims", metadata["namespace"], metadata["name"], subresource)
            await self._send(_body("PATCH", path, patch, MERGE_PATCH), accepted=(_NOT_FOUND, _CONFLICT))

    async def patch_status(self, pod: Metadata, status: Wire) -> None:
        """Merge `status` into the status of exactly this pod; nothing happens if it has gone."""
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        request = _body("PATCH", _path("pods", pod.namespace, pod.name, "status"), patch, MERGE_PATCH)
        # A pod of the same name but another uid is a conflict, or an attempt to change the uid.
        await self._send(request, accepted=(_NOT_FOUND, _CONFLICT, _INVALID))

    async def confirm_deletion(self, pod: Metadata) -> None:
        """Remove the object of a pod whose processes have gone."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        request = _body("DELETE", _path("pods", pod.namespace, pod.name), options)
        await self._send(request, accepted=(_NOT_FOUND, _CONFLICT))

    async def record(self, pod: Metadata, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record an event about a pod; an identical one counts up."""
        digest = hashlib.sha256(f"{pod.uid}/{kind}/{reason}/{message}".encode()).hexdigest()[:16]
        name, now = f"{pod.name[:200]}.{digest}", rfc3339(datetime.now(UTC))
        count = self._counts[name] = self._counts.pop(name, 0) + 1
        if len(self._counts) > _REMEMBERED_EVENTS:
            self._counts.popitem(last=False)
        if count > 1:
            patch = {"count": count, "lastTimestamp": now}
            request = _body("PATCH", _path("events", pod.namespace, name), patch, MERGE_PATCH)
            await self._send(request, accepted=(_NOT_FOUND,))
            return
        component = "default-scheduler" if reason in ("Scheduled", "FailedScheduling") else "kubelet"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": pod.namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
            },
            "type": kind,
            "reason": reason,
            "message": legible(message),
            "source": {"component": component, "host": self._node_name},
            "reportingComponent": component,
            "reportingInstance": self._node_name,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._send(_body("POST", _path("events", pod.namespace), event), accepted=(_CONFLICT, _NOT_FOUND))

    async def _send(self, request: Request, accepted: tuple[int, ...] = ()) -> Any:
        answer = await self._transport.request(request)
        return {} if answer.status in accepted else _content(request, answer)


def _body(method: str, path: str, content: Mapping[str, Any], content_type: str = JSON) -> Request:
    return Request(method, path, body=json.dumps(content).encode(), content_type=content_type, user_agent="kubelet")


def _content(request: Request, answer: Response) -> Any:
    if answer.status >= 300:
        raise _rejected(request, answer)
    return json.loads(answer.body)


def _rejected(request: Request, answer: Response) -> RequestRejected:
    message = ""
    with suppress(ValueError):
        message = json.loads(answer.body).get("message", "")
    return RequestRejected(f"{request.method} {request.path}: {answer.status} {message}".rstrip())
