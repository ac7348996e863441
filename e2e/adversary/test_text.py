"""Text of tenants: what the operator says of it is short, and steers no terminal."""

from __future__ import annotations

import urllib.request

from e2e.harness.client import eventually
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import Operator

LIMIT = 1024
STEERING = "first\r\nforged\x1b[2J\x1b]0;title\x07evil\u202egnp.exe"
LONG = STEERING + "x" * 200_000


def fits(text: str) -> bool:
    return len(text) <= LIMIT and text.isprintable()


async def said(jobs: Namespace, reason: str) -> list[str]:
    """The messages of all events of the namespace, once there is one with this reason."""

    async def found() -> list[str]:
        events = (await jobs.api.call("GET", f"/api/v1/namespaces/{jobs.name}/events"))["items"]
        return [each["message"] for each in events] if any(each["reason"] == reason for each in events) else []

    return await eventually(found, f"an event {reason}")


async def test_an_annotation_of_200_kb_becomes_a_short_event(operator: Operator, jobs: Namespace) -> None:
    body = job("annotated", Master=1)
    body["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": LONG}
    await jobs.create(body)
    messages = await said(jobs, "BadAnnotation")
    assert [each for each in messages if not fits(each)] == []
    assert any("restart-scope: 'first" in each and each.endswith("...") for each in messages)


async def test_a_termination_message_stands_in_the_condition_without_its_escapes(
    operator: Operator, jobs: Namespace
) -> None:
    body = job("steering", Master=1)
    await jobs.create(body)
    await jobs.pods_reach("steering", 1)
    [pod] = await jobs.pods("steering")
    ended = {"exitCode": 1, "reason": STEERING, "message": LONG[:30_000]}
    container = {"name": "pytorch", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Failed", "containerStatuses": [{**container, "state": {"terminated": ended}}]}
    await jobs.api.patch(f"/api/v1/namespaces/{jobs.name}/pods/{pod['metadata']['name']}/status", {"status": status})
    condition = await jobs.condition(body, "Failed")
    assert "exited with code 1" in condition["message"]
    assert fits(condition["message"])
    assert [each for each in await said(jobs, "PyTorchJobFailed") if not fits(each)] == []


def test_neither_log_nor_metrics_have_it(operator: Operator) -> None:
    with urllib.request.urlopen(operator.metrics, timeout=10) as answer:
        exposition = answer.read().decode()
    written = operator.child.output() + exposition
    assert [line for line in written.split("\n") if not line.isprintable() or "x" * LIMIT in line] == []
