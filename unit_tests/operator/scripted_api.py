"""An API server with the responses of a test, in order, that records its requests."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from training_operator.kube.transport import Request, Response, Stream

FOREVER = "forever"
"""In place of a line: silence until the watch is closed."""


def answer(status: int = 200, body: Any = None, **headers: str) -> Response:
    return Response(status, json.dumps(body or {}).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


def rejection(code: int, reason: str, message: str = "no", **headers: str) -> Response:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return answer(code, status, **headers)


def event(type_: str, obj: Mapping[str, Any]) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode()


def bookmark(version: str, *, end: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if end else {}
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": version, "annotations": annotations}})


def pod(name: str, version: str, **metadata: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": version, **metadata},
    }


Script = Response | Exception | Sequence[bytes | Exception | str]


class ScriptedApi:
    """A transport with prepared answers: `answers` for requests, `watches` for streams."""

    def __init__(self, answers: Iterable[Response | Exception] = (), watches: Iterable[Script] = ()) -> None:
        self.answers = deque(answers)
        self.watches = deque(watches)
        self.requests: list[Request] = []
        self.times: list[float] = []

    def _note(self, request: Request) -> None:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())

    async def request(self, request: Request) -> Response:
        self._note(request)
        await asyncio.sleep(0)
        prepared = self.answers.popleft()
        if isinstance(prepared, Exception):
            raise prepared
        return prepared

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        self._note(request)
        script = self.watches.popleft() if self.watches else [FOREVER]
        if isinstance(script, Exception):
            raise script
        if isinstance(script, Response):
            yield Stream(script.status, _lines([]), script.body, script.headers)
            return
        yield Stream(200, _lines(script))

    async def close(self) -> None:
        return


async def _lines(script: Sequence[bytes | Exception | str]) -> AsyncIterator[bytes]:
    for line in script:
        await asyncio.sleep(0)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, bytes):
            yield line
        else:
            await asyncio.Event().wait() if line == FOREVER else await asyncio.sleep(float(line))
