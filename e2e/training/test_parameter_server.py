"""TensorFlow with a parameter server: the chief decides, and no other replica would ever end."""

from __future__ import annotations

import json

import pytest
from e2e.harness.client import eventually
from e2e.training.conftest import Start
from e2e.training.examples import Example

pytestmark = [pytest.mark.framework(name="tensorflow"), pytest.mark.weekly]
CHIEF = "tensorflow-ps-chief-0"


async def test_the_chief_decides_and_the_others_are_removed(start: Start) -> None:
    run = await start(Example("tensorflow/parameter-server.yaml"))
    outcome = await run.end()
    assert outcome.condition["type"] == "Succeeded", outcome.text
    [report] = [json.loads(line) for line in outcome.logs[CHIEF].splitlines() if line.startswith('{"firstLoss"')]
    assert report["lastLoss"] < report["firstLoss"] / 10
    assert "/job:ps/" in report["weightsOn"]
    seen = {name.removeprefix("/job:").partition("/device")[0] for name in report["devices"]}
    tasks = {f"{job}/replica:0/task:{index}" for job, index in (("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1))}
    assert seen == tasks, report["devices"]

    async def only_the_chief_is_left() -> bool:
        return [pod["metadata"]["name"] for pod in await run.pods()] == [CHIEF]

    await eventually(only_the_chief_is_left, "removal of ps and workers", 60)
    assert (await run.status())["replicaStatuses"]["Chief"]["succeeded"] == 1
