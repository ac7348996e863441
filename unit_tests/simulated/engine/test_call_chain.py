"""From a reconcile to the request that creates a pod: at most 18 functions, and docs/architecture.md lists them."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from e2e.support.paths import ROOT
from e2e.support.simulation.cluster import cluster
from e2e.support.simulation.jobs import jax

from training_operator.kube.transport import Request

pytestmark = pytest.mark.virtual_time

PAGE = ROOT / "docs" / "architecture.md"
FIRST = ("reconcile/reconciler", "JobReconciler.reconcile")
LAST = ("kube/http", "HttpTransport.request")
"""In place of the transport of the simulation."""
LIMIT = 18


def listed() -> list[tuple[str, str]]:
    block = re.search(r"^From a reconcile to the request.*?```\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    return [(words[0], words[1]) for words in map(str.split, block[1].splitlines())]


def functions(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    """The operator's functions on the stack, the innermost first: the module as the page names it, the name in it."""
    while frame is not None:
        if found := re.search(r"/training_(?:operator|controllers)/(.*)\.py$", frame.f_code.co_filename):
            yield found[1], frame.f_code.co_qualname.replace(".<locals>", "")
        frame = frame.f_back


async def test_the_page_lists_the_functions_from_a_reconcile_to_the_creation_of_a_pod() -> None:
    chains: set[tuple[tuple[str, str], ...]] = set()
    created_by: dict[asyncio.Task[Any] | None, list[tuple[str, str]]] = {}

    def chain() -> list[tuple[str, str]]:
        """The stack of a task ends where the task begins: there follows that of its creation."""
        return [*functions(sys._getframe(1)), *created_by.get(asyncio.current_task(loop), [])]

    def make_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
        created_by[task] = chain()
        return task

    def record(request: Request) -> None:
        if (request.method, request.path) == ("POST", "/api/v1/namespaces/default/pods"):
            names = chain()
            chains.add((*reversed(names[: names.index(FIRST) + 1]), LAST))

    loop = asyncio.get_running_loop()
    loop.set_task_factory(make_task)
    async with cluster() as world:
        world.operator().transport.reject = record
        await asyncio.sleep(1)
        await world.api.create(jax(workers=2))
        await asyncio.sleep(5)
        assert len(await world.pods()) == 2
    assert chains == {tuple(listed())}
    assert len(listed()) <= LIMIT
