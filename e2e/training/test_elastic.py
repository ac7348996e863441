"""Elastic PyTorch: a worker is lost in the middle of the training, comes back, and all resume from the checkpoint."""

from __future__ import annotations

import pytest
from e2e.harness.client import Object, eventually
from e2e.training.conftest import Start
from e2e.training.examples import Example
from e2e.training.runs import Run

pytestmark = [pytest.mark.framework(name="pytorch"), pytest.mark.weekly]
LOST = "pytorch-elastic-worker-2"
KILL_ALL_BUT_PROCESS_1 = "kill -9 -1"
STEPS, LOST_AFTER = 200, 20


def elastic() -> Example:
    """The example with so many steps that most of them lie after the loss."""
    example = Example("pytorch/elastic.yaml")
    example.set(STEPS=str(STEPS))
    return example


async def trained_for_a_while(run: Run) -> None:
    """Wait until the worker that will be lost has made some steps, so that there is a checkpoint."""

    async def seen() -> bool:
        return f"step {LOST_AFTER}/{STEPS}" in await run.log(LOST)

    await eventually(seen, f"step {LOST_AFTER} of {LOST}", 120)


async def check_recovered(run: Run) -> None:
    """All three ranks have ended together, and none began anew."""
    outcome = await run.end()
    outcome.check_trained(3)
    for report in outcome.reports:
        assert LOST_AFTER <= report["begunAfterStep"] < STEPS, outcome.text


async def restarts(run: Run) -> dict[str, int]:
    """How often the container of each worker was started again in place."""
    return {pod["metadata"]["name"]: _restarts(pod) for pod in await run.pods()}


def _restarts(pod: Object) -> int:
    return int(pod["status"]["containerStatuses"][0]["restartCount"])


async def counted(run: Run) -> int:
    """The restarts that the job's status tells."""
    return int((await run.status())["replicaStatuses"]["Worker"].get("restarts", 0))


async def test_a_killed_worker_comes_back_in_place(start: Start) -> None:
    example = elastic()
    for container in example.containers():
        # No process can kill process 1 of a container from within, so let that be a shell, which ends as torchrun does.
        container["command"] = ["sh", "-c", '"$@"; exit $?', "sh", *container["command"]]
    run = await start(example)
    await trained_for_a_while(run)
    await run.execute(LOST, KILL_ALL_BUT_PROCESS_1)
    await check_recovered(run)
    others = {LOST.replace("2", "0"): 0, LOST.replace("2", "1"): 0}
    assert (await restarts(run), await counted(run)) == ({LOST: 1, **others}, 1)


async def test_a_deleted_worker_is_replaced(start: Start) -> None:
    run = await start(elastic())
    await trained_for_a_while(run)
    path = f"{run.core}/pods/{LOST}"
    before = (await run.api.call("GET", path))["metadata"]["uid"]
    await run.api.delete(path)
    await check_recovered(run)
    assert (await run.api.call("GET", path))["metadata"]["uid"] != before
    # torchrun that is told to end closes the rendezvous, so those of the others may fail and start again in place.
    found = await restarts(run)
    assert (found[LOST], await counted(run)) == (0, sum(found.values()))
