"""Know when a namespace has come to rest, without polling it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from e2e.conformance.snapshot import COLLECTIONS, EVENTS
from e2e.harness.client import Api, ApiError


class Activity:
    """Watches whole collections of the cluster and remembers when each namespace was last touched."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    async def follow(self, api: Api, path: str) -> None:
        """Watch one collection of all namespaces, for ever; one that is not served has no activity."""
        while True:
            try:
                async for event in api.watch(path):
                    if namespace := event["object"].get("metadata", {}).get("namespace"):
                        self._last[namespace] = time.monotonic()
            except ApiError as error:
                if error.status == 404:
                    return
                raise

    async def rest(self, namespace: str, quiet: float, limit: float = 30.0) -> float:
        """Wait until nothing changes for `quiet` seconds, from now at the earliest; return the last change.

        Both times are those of an idle machine: where processes wait for the processor, silence says less.
        """
        start, crowd = time.monotonic(), _crowd()
        quiet, limit = quiet * crowd, limit * crowd
        while (remaining := max(start, self.last(namespace)) + quiet - time.monotonic()) > 0:
            if time.monotonic() - start > limit:
                raise TimeoutError(f"the state of namespace {namespace} did not settle within {limit:.0f} s")
            await asyncio.sleep(remaining)
        return self.last(namespace)

    def last(self, namespace: str) -> float:
        """When the namespace was last touched, on the clock of `time.monotonic`."""
        return self._last.get(namespace, 0.0)


def _crowd() -> float:
    """How many processes share a core, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@asynccontextmanager
async def watching(api: Api, job_plurals: Iterable[str]) -> AsyncIterator[Activity]:
    """Follow everything that a snapshot holds, in all namespaces."""
    paths = [path.replace("/namespaces/{}", "") for path in [*COLLECTIONS.values(), EVENTS]]
    paths += [f"/apis/kubeflow.org/v1/{plural}" for plural in job_plurals]
    activity = Activity()
    async with asyncio.TaskGroup() as group:  # a watch that breaks fails the run: its silence is not rest
        tasks = [group.create_task(activity.follow(api, path)) for path in paths]
        yield activity
        for task in tasks:
            task.cancel()
