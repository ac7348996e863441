"""All cases, and how one is played."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import secrets
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
from e2e.fidelity import cases
from e2e.fidelity.player import Player
from e2e.harness.recordings import write
from e2e.support.widgets import WIDGETS

Case = Callable[[Player], Awaitable[None]]

RECORDED = Path(__file__).parent / "recorded"
STEPS = 2
"""How deep the steps lie in a file of transcripts, the objects that have a line each."""


def all_cases() -> Iterator[tuple[str, str, Case]]:
    """Module, name and function of every case: the public coroutine functions of the modules in `cases`."""
    for found in pkgutil.iter_modules(cases.__path__):
        module = importlib.import_module(f"{cases.__name__}.{found.name}")
        for name, function in vars(module).items():
            if inspect.iscoroutinefunction(function) and function.__module__ == module.__name__ and name[0] != "_":
                yield found.name, name, function


def recorded(module: str) -> dict[str, Any]:
    """Transcripts of a module's cases as the real server gave them."""
    path = RECORDED / f"{module}.json"
    transcripts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return transcripts


def write_recorded(module: str, transcripts: dict[str, Any]) -> None:
    """Keep the transcripts of a module's cases."""
    write(RECORDED / f"{module}.json", transcripts, STEPS)


async def prepare(session: aiohttp.ClientSession, server: str) -> None:
    """Define the custom resource that cases use."""
    player = Player(session, server, "default")
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await player.quietly("POST", collection, WIDGETS)
    await player.until("widgets", lambda answer: answer.status == 200)


async def new_namespace(player: Player) -> None:
    """Create the player's namespace and wait until its controllers have been there."""
    await player.quietly("POST", "/api/v1/namespaces", {"metadata": {"name": player.namespace}})
    await player.until("serviceaccounts/default", lambda answer: answer.status == 200)
    await player.until("configmaps/kube-root-ca.crt", lambda answer: answer.status == 200)


async def play(case: Case, session: aiohttp.ClientSession, server: str) -> list[Any]:
    """Play a case in a fresh namespace and return its transcript."""
    player = Player(session, server, f"fidelity-{secrets.token_hex(4)}")
    await new_namespace(player)
    try:
        await case(player)
    finally:
        await player.quietly("DELETE", f"/api/v1/namespaces/{player.namespace}")
        await player.quietly("DELETE", "pods", {"gracePeriodSeconds": 0})
    # As JSON has it: tuples become lists, keys strings.
    transcript: list[Any] = json.loads(json.dumps(player.transcript))
    return transcript
