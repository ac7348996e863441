"""Whatever stands in jobs and pods: conditions, events, log lines and metrics are legible."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from e2e.support.paths import ROOT
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster
from e2e.support.simulation.jobs import jax, mpi, paddle, pytorch, tensorflow, xgboost

from training_api.printable import LIMIT, legible
from training_operator import logs
from training_operator.settings import LogFormat, LogLevel

pytestmark = pytest.mark.virtual_time

TEXT = "first\nlevel=error forged=yes\r\x1b[2J\x1b]0;title\x07evil\u202egnp.exe\u2066\u200f" + 40_000 * "x"
"""What can be in a string of JSON that an API server stores, and more of it than one event holds."""
KINDS: dict[str, Callable[..., Json]] = {
    "PyTorchJob": pytorch,
    "TFJob": tensorflow,
    "XGBoostJob": xgboost,
    "MPIJob": mpi,
    "PaddleJob": paddle,
    "JAXJob": jax,
}
PREFIX = "extension.training.kubeflow.org/"
ANNOTATIONS = ("restart-scope", "disruptions", "gang-scheduling", "init-container", "mpi-launch", "unheard-of")


@pytest.fixture
def as_started() -> Iterator[None]:
    """Loggers as they are after the test, which sets them up as a process does."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:], logging.root.level = handlers, level


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all strings and numbers of a spec."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    else:
        yield path


def replaced(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy with the text at a path."""
    if not path:
        return TEXT
    if isinstance(value, dict):
        return {key: replaced(each, path[1:]) if key == path[0] else each for key, each in value.items()}
    return [replaced(each, path[1:]) if number == path[0] else each for number, each in enumerate(value)]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def fit(text: str) -> bool:
    return legible(text) == text and len(text) <= LIMIT


async def say(world: Cluster, name: str, phase: str, state: Json) -> None:
    """Set the status of a pod, with the text wherever a kubelet, a scheduler or a program may say something."""
    pod = await world.api.get("Pod", name)
    if pod is None:
        return
    condition = {"reason": "Unschedulable", "message": TEXT, "status": "False", "type": "PodScheduled"}
    disrupted = {"reason": TEXT, "message": TEXT, "status": "True", "type": "DisruptionTarget"}
    status = {
        "phase": phase,
        "reason": TEXT,
        "message": TEXT,
        "nominatedNodeName": "",
        "conditions": [condition, disrupted] if "terminated" in state else [condition],
        "containerStatuses": [
            {"name": each["name"], "image": TEXT, "imageID": TEXT, "ready": False, "restartCount": 3, "state": state}
            for each in pod["spec"]["containers"]
        ],
    }
    await world.api.patch("Pod", name, {"status": status}, "status")


OFTEN = ("PyTorchJob", "MPIJob")
"""The others only weekly."""


@pytest.mark.usefixtures("as_started")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in OFTEN else pytest.mark.weekly) for kind in KINDS]
)
async def test_what_the_operator_says_is_legible(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogFormat.JSON, LogLevel.DEBUG)
    async with cluster(checks=False) as world:
        process = world.operator()
        job = KINDS[kind]("lives", workers=1, backoffLimit=2)
        job["metadata"]["annotations"] = {PREFIX + name: TEXT for name in ANNOTATIONS}
        await world.api.create(job)
        for number, path in enumerate(leaves(job["spec"])):
            broken = KINDS[kind](f"broken-{number}", workers=1)
            await world.api.create({**broken, "spec": replaced(job["spec"], path)})
        await asyncio.sleep(20)
        for reason in ("ImagePullBackOff", "CreateContainerConfigError", "CrashLoopBackOff"):
            for name in await world.pods():
                await say(world, name, "Pending", {"waiting": {"reason": reason, "message": TEXT}})
            await asyncio.sleep(70)
        for name in await world.pods():
            ended = {"exitCode": 1, "reason": TEXT, "message": TEXT, "signal": 0}
            await say(world, name, "Failed", {"terminated": ended})
        await asyncio.sleep(70)
        events = [[event["message"], event["reason"]] for event in await world.api.list("Event")]
        statuses = [each.get("status", {}) for each in await world.api.list(kind)]
        world.undocumented.clear()  # a pod's reason is that of the event
        exposition = process.app.metrics.exposition().decode()
    assert len(events) > 3
    assert any(condition["type"] == "Failed" for status in statuses for condition in status.get("conditions", ()))
    assert [each for each in strings([events, statuses]) if not fit(each)] == []
    assert [line for line in exposition.splitlines() if not fit(line)] == []
    written = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert len(written) > 10
    assert [each for each in strings(written) if not fit(each)] == []
    assert process.complaints == []


def callers(function: str, argument: str = "") -> set[str]:
    """The modules of the operator in which a function of this name is called, with `argument` among the arguments."""
    sources = [path for root in ("api", "controllers", "operator") for path in (ROOT / root).rglob("*.py")]
    return {path.name for path in sources if any(_calls(path.read_text(), function, argument))}


def _calls(source: str, function: str, argument: str) -> Iterator[bool]:
    for node in ast.walk(ast.parse(source)) if function in source and argument.partition("=")[0] in source else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == function:
            yield argument in ast.unparse(node)


def test_nobody_else_writes_events_statuses_or_log_lines() -> None:
    """Events go through `JobEvent` and the recorder, statuses through the models of `training_api`."""
    assert callers("create", "EVENTS") == {"events.py"}
    assert callers("patch", "subresource='status'") | callers("replace", "subresource='status'") == {"adapters.py"}
    assert callers("getLogger") | callers("basicConfig") | callers("PrintLoggerFactory") == {"logs.py"}
