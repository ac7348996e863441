"""Following a collection of the API for as long as its server is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from training_local.errors import BadInput
from training_operator.kube.transport import Request, Response, Transport

RETRY_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 600.0

Seen = Callable[[str, dict[str, Any]], None]
"""Takes `ADDED`, `MODIFIED` or `DELETED` and the object."""


async def watch(transport: Transport, path: str, selector: Mapping[str, str], seen: Seen) -> None:
    """Call `seen` with every object and every later change; what vanished during an interruption counts as deleted.

    Never returns. Raises `BadInput` if the collection may not be read, and `OSError` if the server is gone.
    """
    known: dict[str, dict[str, Any]] = {}
    while True:
        body = await _list(transport, path, selector)
        present = {item["metadata"]["uid"]: item for item in body["items"]}
        for uid in known.keys() - present.keys():
            seen("DELETED", known[uid])
        for item in present.values():
            seen("ADDED", item)
        known = present
        query = {
            **selector,
            "watch": "true",
            "resourceVersion": body["metadata"]["resourceVersion"],
            "allowWatchBookmarks": "true",
        }
        with suppress(OSError):
            async with transport.stream(Request("GET", path, query, timeout=_SILENCE_SECONDS)) as stream:
                async for line in stream.lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    if event["type"] != "BOOKMARK":
                        known[event["object"]["metadata"]["uid"]] = event["object"]
                        seen(event["type"], event["object"])


async def _list(transport: Transport, path: str, selector: Mapping[str, str]) -> dict[str, Any]:
    while True:
        answer = await transport.request(Request("GET", path, selector))
        if answer.status == 200:
            body: dict[str, Any] = json.loads(answer.body)
            return body
        if answer.status < 500 and answer.status != 429:
            raise BadInput(message_of(answer))
        await asyncio.sleep(RETRY_SECONDS)


def message_of(answer: Response) -> str:
    """Return the sentence of a Status answer."""
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        return f"the API server responds with {answer.status}"
