"""What the real scheduler says of a pod and a node: situations, and the generator of their recording.

    python -m e2e.fidelity.scheduling            rewrite the recording

The situations are in `e2e/support/scheduling.py`; unit tests of the local node's scheduler compare its words.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from e2e.harness import recordings
from e2e.harness.bare import bare
from e2e.harness.binaries import programs
from e2e.harness.client import Api, ApiError, Object, connect, eventually
from e2e.harness.processes import Child
from e2e.support.scheduling import NODE, POLITE, RECORDING, SITUATIONS

_POLL, _NOTICED = 0.05, 0.15
"""Seconds between looks, and until the scheduler has surely seen what is there."""
PODS = "/api/v1/namespaces/default/pods"


@contextmanager
def scheduler(kubeconfig: Path) -> Iterator[None]:
    """Run the real scheduler."""
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        flags = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0")
        child = Child([programs()["kube-scheduler"], *flags], Path(folder) / "scheduler.log")
        try:
            yield
        finally:
            child.kill()


async def observe(api: Api, case: Object) -> Object:
    """What the scheduler makes of a situation; nothing of it stays."""
    await api.create("/api/v1/nodes", {"metadata": {"name": NODE, **case["node"].get("metadata", {})}})
    try:
        ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        amounts = {"capacity": case["capacity"], "allocatable": case["capacity"], "conditions": ready}
        await api.patch(f"/api/v1/nodes/{NODE}/status", {"status": amounts})
        await eventually(lambda: _untainted(api), "a node without taints", poll=_POLL)
        if spec := case["node"].get("spec"):
            await api.patch(f"/api/v1/nodes/{NODE}", {"spec": spec})
        for each in case["present"]:
            await api.create(PODS, {**each, "spec": {**each["spec"], "nodeName": NODE}})
        await asyncio.sleep(_NOTICED)
        await api.create(PODS, case["incoming"])
        return await eventually(lambda: _verdict(api), "a decision", poll=_POLL)
    finally:
        for each in (*case["present"], case["incoming"]):
            with suppress(ApiError):  # the reason is that it could not be created
                await api.call("DELETE", f"{PODS}/{each['metadata']['name']}", {"gracePeriodSeconds": 0})
        await api.delete(f"/api/v1/nodes/{NODE}")


async def _untainted(api: Api) -> bool:
    """New nodes carry a taint until the controller manager has seen that they are ready."""
    node = await api.get(f"/api/v1/nodes/{NODE}")
    return node is not None and not node["spec"].get("taints")


async def _verdict(api: Api) -> Object | None:
    """Reason and message of the scheduler's event; of its condition, which must say the same, where there is none."""
    stored = await api.call("GET", f"{PODS}/incoming")
    about = f"fieldSelector=involvedObject.uid={stored['metadata']['uid']}"
    events = (await api.call("GET", f"/api/v1/namespaces/default/events?{about}"))["items"]
    told = [each for each in stored["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    if not told or not (events or told[0].get("reason") == "SchedulingGated"):
        return None
    for event in events:
        if event["reason"] == "FailedScheduling":
            assert (told[0]["reason"], told[0]["message"]) == ("Unschedulable", event["message"])
    source = events[0] if events else told[0]
    return {"reason": source["reason"], "message": source["message"]}


async def record() -> dict[str, Object]:
    """Show every situation to the real scheduler."""
    with bare() as cluster, scheduler(cluster.kubeconfig):
        async with connect(cluster.kubeconfig) as api:
            await api.create("/apis/scheduling.k8s.io/v1/priorityclasses", POLITE)
            return {name: await observe(api, case) for name, case in SITUATIONS.items()}


def text_of(recording: Mapping[str, Object]) -> str:
    """The recording as it is kept: one situation per line."""
    return recordings.text_of(recording, 1)


if __name__ == "__main__":
    RECORDING.write_text(text_of(asyncio.run(record())))
