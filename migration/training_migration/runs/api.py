"""What a run asks of an API server, be it embedded or far away: create, read, list and delete any object."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from training_operator.kube.transport import Request, Response, Transport

Json = dict[str, Any]

NOT_FOUND: Final = 404
CONFLICT: Final = 409
_WATCH_SECONDS: Final = 300
_NEW_RUNTIME_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.3


class Rejected(Exception):
    """The API server has rejected a request; the text is one sentence with its words."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """Objects of any kind that the server knows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._known: dict[str, dict[str, tuple[str, bool]]] = {}
        """Group and version -> kind -> plural, and whether it is namespaced."""

    async def create(self, obj: Json, *, strict: bool = False, dry_run: bool = False) -> Json:
        """Create an object; raises Rejected, with status 409 if there is one of that name.

        A `strict` server rejects fields that it does not know, as it does for kubectl; so it does in a `dry_run`,
        after which nothing is stored.
        """
        path = await self.collection(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", "default"))
        query = {"fieldValidation": "Strict"} if strict or dry_run else {}
        query |= {"dryRun": "All"} if dry_run else {}
        answer = await self._transport.request(Request("POST", path, query, json.dumps(obj).encode()))
        return _content(f"{obj['kind']} {_name(obj)}", answer)

    async def create_after_runtime(self, obj: Json, *, strict: bool = False) -> Json:
        """Create a TrainJob whose runtime is new: Trainer's webhook may learn of it only after a moment."""
        clock = asyncio.get_running_loop().time
        give_up = clock() + _NEW_RUNTIME_SECONDS
        while True:
            try:
                return await self.create(obj, strict=strict)
            except Rejected as rejected:
                if "must be created before" not in str(rejected) or clock() > give_up:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def read(self, version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return an object; None if there is none."""
        path = f"{await self.collection(version, kind, namespace)}/{quote(name, safe='')}"
        answer = await self._transport.request(Request("GET", path))
        return None if answer.status == NOT_FOUND else _content(f"{kind} {name}", answer)

    async def listed(self, version: str, kind: str, namespace: str, selector: str = "") -> list[Json]:
        """Return the objects of a kind that have these labels."""
        path = await self.collection(version, kind, namespace)
        query = {"labelSelector": selector} if selector else {}
        items = _content(f"list of {kind}", await self._transport.request(Request("GET", path, query)))["items"]
        return list(items)

    async def delete(self, obj: Json, grace: int | None = None) -> None:
        """Delete exactly this object with what depends on it; nothing happens if it has gone."""
        metadata = obj["metadata"]
        path = await self.collection(obj["apiVersion"], obj["kind"], metadata.get("namespace", "default"))
        options: Json = {"propagationPolicy": "Background"}
        if metadata.get("uid"):
            options["preconditions"] = {"uid": metadata["uid"]}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        request = Request("DELETE", f"{path}/{quote(metadata['name'], safe='')}", body=json.dumps(options).encode())
        answer = await self._transport.request(request)
        if answer.status not in (NOT_FOUND, CONFLICT):
            _content(f"{obj['kind']} {_name(obj)}", answer)

    async def collection(self, version: str, kind: str, namespace: str) -> str:
        """Return the path of a kind's collection; raises Rejected for a kind that the server does not know."""
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._known:
            answer = await self._transport.request(Request("GET", root))
            resources = _content(version, answer).get("resources", ()) if answer.status != NOT_FOUND else ()
            whole = [each for each in resources if "/" not in each["name"]]
            self._known[version] = {each["kind"]: (each["name"], each["namespaced"]) for each in whole}
        if kind not in self._known[version]:
            raise Rejected(f"the cluster does not know {version} {kind}", NOT_FOUND)
        plural, namespaced = self._known[version][kind]
        return f"{root}/namespaces/{quote(namespace, safe='')}/{plural}" if namespaced else f"{root}/{plural}"

    async def changes(self, path: str, selector: str = "") -> AsyncIterator[tuple[bool, Json]]:
        """Yield (gone, object) for each object of a collection and each change, until the server ends the watch."""
        labels = {"labelSelector": selector} if selector else {}
        found = _content(path, await self._transport.request(Request("GET", path, labels)))
        for item in found["items"]:
            yield False, item
        version = found["metadata"]["resourceVersion"]
        query = {**labels, "watch": "true", "resourceVersion": version, "timeoutSeconds": str(_WATCH_SECONDS)}
        async with self._transport.stream(Request("GET", path, query, timeout=_WATCH_SECONDS + 15.0)) as stream:
            async for line in stream.lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"] == "DELETED", event["object"]

    async def log(self, pod: Json, container: str, **query: str) -> AsyncIterator[str]:
        """Yield the lines of a container's log; none where there is no log."""
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{quote(metadata['namespace'], safe='')}/pods/{quote(metadata['name'], safe='')}/log"
        request = Request("GET", path, {"container": container, **query}, accept="*/*", timeout=86_400.0)
        async with self._transport.stream(request) as stream:
            if stream.status == 200:
                async for line in stream.lines:
                    yield line.decode(errors="replace").rstrip("\n")


def _name(obj: Json) -> str:
    return str(obj["metadata"].get("name") or obj["metadata"].get("generateName"))


def _content(what: str, answer: Response) -> Json:
    if answer.status >= 300:
        message = answer.body.decode(errors="replace")
        with suppress(ValueError, KeyError):
            message = json.loads(answer.body)["message"]
        raise Rejected(f"{what} was rejected: {message}", answer.status)
    content: Json = json.loads(answer.body)
    return content
