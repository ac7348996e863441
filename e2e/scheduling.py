"""What the real scheduler says of a pod and a node: situations, and the generator of their recording.

    python -m e2e.scheduling            rewrite the recording

The unit tests of the local node's scheduler compare its words with the recording.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from e2e.harness import recordings
from e2e.harness.bare import bare
from e2e.harness.binaries import programs
from e2e.harness.client import Api, ApiError, Object, connect, eventually
from e2e.harness.processes import Child

_POLL, _NOTICED = 0.05, 0.15
"""Seconds between looks, and until the scheduler has surely seen what is there."""
RECORDING = Path(__file__).with_name("scheduling.json")
NODE = "local"
PODS = "/api/v1/namespaces/default/pods"
POLITE = {"metadata": {"name": "polite"}, "value": 7, "preemptionPolicy": "Never"}
CAPACITY = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "4", "nvidia.com/gpu": "2"}


def pod(*containers: Object, name: str = "incoming", **spec: Any) -> Object:
    """A pod; containers get names and an image."""
    named = [{"name": f"c{index}", "image": "none", **container} for index, container in enumerate(containers or ({},))]
    return {"metadata": {"name": name}, "spec": {"containers": named, **spec}}


def wants(**amounts: str) -> Object:
    """A container with these requests; `gpu` is a limit."""
    gpus = {"nvidia.com/gpu": amounts.pop("gpu")} if "gpu" in amounts else {}
    return {"resources": {"requests": {k.replace("_", "-"): v for k, v in amounts.items()}, "limits": gpus}}


def situation(
    incoming: Object, *present: Object, node: Object | None = None, capacity: Mapping[str, str] = CAPACITY
) -> Object:
    """A node, what runs on it, and a pod that arrives."""
    return {"incoming": incoming, "present": present, "node": node or {}, "capacity": {**CAPACITY, **capacity}}


def _affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def _expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def _port(number: int, **more: Any) -> Object:
    return {"ports": [{"containerPort": number, "hostPort": number, **more}]}


_TAINTED: Object = {"spec": {"taints": [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]}}
_CORDONED: Object = {"spec": {"unschedulable": True}}
_LABELLED: Object = {"metadata": {"labels": {"gpu": "a100", "cores": "16"}}}
_CLAIM: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}]}
_INIT = {"name": "init", "image": "none"}

SITUATIONS: Mapping[str, Object] = {
    "fits": situation(pod(wants(cpu="4", memory="8Gi", gpu="2"))),
    "wants nothing beside a full node": situation(pod(), pod(wants(cpu="4"), name="big")),
    "more processors than there are": situation(pod(wants(cpu="4001m"))),
    "processors taken": situation(pod(wants(cpu="1")), pod(wants(cpu="3500m"), name="big")),
    "more memory than there is": situation(pod(wants(memory="9Gi"))),
    "memory taken": situation(pod(wants(memory="5Gi")), pod(wants(memory="5Gi"), name="big")),
    "no device": situation(pod(wants(gpu="1")), capacity={"nvidia.com/gpu": "0"}),
    "devices taken": situation(pod(wants(gpu="1")), pod(wants(gpu="2"), name="big")),
    "unknown extended resource": situation(pod({"resources": {"limits": {"example.com/dongle": "1"}}})),
    "several short": situation(pod(wants(cpu="9", memory="99Gi", ephemeral_storage="1Ti", gpu="3"))),
    "some beyond the node, some taken": situation(
        pod(wants(cpu="2", memory="99Gi", gpu="1")), pod(wants(cpu="3", gpu="2"), name="big")
    ),
    "several taken": situation(pod(wants(cpu="2", gpu="1")), pod(wants(cpu="3", gpu="2"), name="big")),
    "too many pods": situation(pod(), pod(name="one"), capacity={"pods": "1"}),
    "too many pods and no processors": situation(pod(wants(cpu="9")), pod(name="one"), capacity={"pods": "1"}),
    "init container is the largest": situation(pod(initContainers=[{**_INIT, **wants(cpu="5")}])),
    "init containers run one by one": situation(
        pod(wants(cpu="2"), initContainers=[{**_INIT, **wants(cpu="4")}, {**_INIT, "name": "more", **wants(cpu="4")}])
    ),
    "sidecars count with containers": situation(
        pod(wants(cpu="3"), initContainers=[{**_INIT, **wants(cpu="1500m"), "restartPolicy": "Always"}])
    ),
    "init container after a sidecar": situation(
        pod(
            initContainers=[
                {**_INIT, **wants(cpu="2"), "restartPolicy": "Always"},
                {**_INIT, "name": "more", **wants(cpu="3")},
            ]
        )
    ),
    "resources of the pod itself": situation(pod(resources={"requests": {"cpu": "5"}})),
    "node selector": situation(pod(nodeSelector={"gpu": "a100"})),
    "node selector matches": situation(pod(nodeSelector={"gpu": "a100"}), node=_LABELLED),
    "node affinity": situation(pod(affinity=_affinity(_expression("gpu", "In", "h100")))),
    "node affinity, one of two terms": situation(
        pod(affinity=_affinity(_expression("gpu", "In", "h100"), _expression("cores", "Gt", "8"))), node=_LABELLED
    ),
    "node affinity, absent label": situation(
        pod(affinity=_affinity(_expression("gpu", "DoesNotExist"))), node=_LABELLED
    ),
    "node affinity, not in": situation(pod(affinity=_affinity(_expression("zone", "NotIn", "b")))),
    "node affinity by name": situation(
        pod(affinity=_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}))
    ),
    "taint": situation(pod(), node=_TAINTED),
    "tolerated taint": situation(pod(tolerations=[{"key": "dedicated", "operator": "Exists"}]), node=_TAINTED),
    "other value tolerated": situation(pod(tolerations=[{"key": "dedicated", "value": "other"}]), node=_TAINTED),
    "everything tolerated": situation(pod(tolerations=[{"operator": "Exists"}]), node=_TAINTED),
    "unschedulable": situation(pod(), node=_CORDONED),
    "port taken": situation(pod(_port(8080)), pod(_port(8080), name="server")),
    "port taken with another protocol": situation(pod(_port(8080)), pod(_port(8080, protocol="UDP"), name="server")),
    "port taken at another address": situation(
        pod(_port(8080, hostIP="127.0.0.1")), pod(_port(8080, hostIP="127.0.0.2"), name="server")
    ),
    "port taken at every address": situation(pod(_port(8080, hostIP="127.0.0.1")), pod(_port(8080), name="server")),
    "selector before resources": situation(pod(wants(cpu="9"), nodeSelector={"gpu": "a100"})),
    "port before resources": situation(pod({**_port(8080), **wants(cpu="9")}), pod(_port(8080), name="server")),
    "claim missing": situation(pod(**_CLAIM)),
    "gated": situation(pod(schedulingGates=[{"name": "example.com/wait"}])),
    "never preempts": situation(pod(wants(cpu="1"), priorityClassName="polite"), pod(wants(cpu="4"), name="big")),
}


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
