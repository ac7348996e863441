"""What outsiders need to keep up with an API server that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import aiohttp
from e2e.harness.client import Api, ApiError, Object

P = ParamSpec("P")
T = TypeVar("T")
Saw = Callable[[str, Object], None]
"""Is told of `ADDED`, `MODIFIED` or `DELETED`, and the object."""

PAUSE = 0.1
"""Seconds before something is tried again."""
_UNREACHABLE = (aiohttp.ClientError, OSError, asyncio.TimeoutError)


async def patiently(call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call until the server answers; refusals with good reason are raised as `ApiError`."""
    while True:
        try:
            return await call(*args, **kwargs)
        except _UNREACHABLE:
            pass
        except ApiError as error:
            if error.status < 500:
                raise
        await asyncio.sleep(PAUSE)


async def follow(api: Api, path: str, saw: Saw) -> None:
    """Tell all that happens to the objects at `path`, in order and without gaps as long as the server has its history.

    What happened while it had none is told as it shows in a list: objects that are gone, and all that are there.
    """
    known: dict[str, Object] = {}
    while True:
        listed = await patiently(api.get, path) or {}  # nothing where the definition is gone
        found = {item["metadata"]["uid"]: item for item in listed.get("items") or ()}
        for uid in [uid for uid in known if uid not in found]:
            saw("DELETED", known.pop(uid))
        for uid, item in found.items():
            saw("MODIFIED" if uid in known else "ADDED", item)
        known.update(found)
        if listed:
            await _watch(api, path, listed["metadata"]["resourceVersion"], known, saw)
        await asyncio.sleep(PAUSE)


async def _watch(api: Api, path: str, version: str, known: dict[str, Object], saw: Saw) -> None:
    """Tell of changes after `version` until the server has forgotten what came after the last one."""
    while True:
        try:
            async for event in api.watch(path, version):
                item = event["object"]
                if event["type"] == "ERROR":
                    return
                version, uid = item["metadata"]["resourceVersion"], item["metadata"]["uid"]
                if event["type"] == "DELETED":
                    known.pop(uid, None)
                else:
                    known[uid] = item
                saw(event["type"], item)
        except _UNREACHABLE:
            pass
        except ApiError as error:
            if error.status < 500:  # history or definition are gone
                return
        await asyncio.sleep(PAUSE)
