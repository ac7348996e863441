"""The columns of `kubectl get pods`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Column
from training_local.durations import age

NONE = "<none>"
ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


@dataclass
class _Summary:
    """What the columns say of a pod's containers."""

    status: str
    ready: int = 0
    total: int = 0
    restarts: int = 0
    last_restart: str = ""
    initializing: bool = False


def _summary(pod: Json) -> _Summary:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
    summary = _Summary(status.get("reason") or status.get("phase", ""), total=len(spec.get("containers") or ()))
    if conditions.get("PodScheduled", {}).get("reason") == "SchedulingGated":
        summary.status = "SchedulingGated"
    sidecars = {c["name"] for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"}
    summary.total += len(sidecars)
    _count_init_containers(summary, status, sidecars, len(spec.get("initContainers", ())))
    if not summary.initializing or conditions.get("Initialized", {}).get("status") == "True":
        initial = [each for each in status.get("initContainerStatuses", ()) if each["name"] in sidecars]
        summary.restarts, summary.last_restart = _restarts([*initial, *status.get("containerStatuses", ())])
        ready = conditions.get("Ready", {}).get("status") == "True"
        _count_containers(summary, status.get("containerStatuses", ()), ready)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            summary.status = "Unknown"
        elif status.get("phase") not in ENDED:
            summary.status = "Terminating"
    return summary


def _restarts(containers: Iterable[Json]) -> tuple[int, str]:
    listed = list(containers)
    ends = [each.get("lastState", {}).get("terminated", {}).get("finishedAt") or "" for each in listed]
    return sum(each.get("restartCount", 0) for each in listed), max(ends, default="")


def _count_init_containers(summary: _Summary, status: Json, sidecars: set[str], total: int) -> None:
    """Count ready sidecars, up to the first init container that has not done its work: it makes the status."""
    seen: list[Json] = []
    for index, container in enumerate(status.get("initContainerStatuses", ())):
        seen.append(container)
        state = container.get("state", {})
        ended, waiting = state.get("terminated"), state.get("waiting", {}).get("reason")
        if ended is not None and ended["exitCode"] == 0:
            continue
        if container["name"] in sidecars and container.get("started"):
            summary.ready += container.get("ready", False)
            continue
        if ended is not None:
            summary.status = f"Init:{_end(ended)}"
        elif waiting and waiting != "PodInitializing":
            summary.status = f"Init:{waiting}"
        else:
            summary.status = f"Init:{index}/{total}"
        summary.initializing = True
        break
    summary.restarts, summary.last_restart = _restarts(seen)


def _count_containers(summary: _Summary, containers: Iterable[Json], pod_ready: bool) -> None:
    running = False
    for container in reversed(list(containers)):
        state = container.get("state", {})
        if reason := state.get("waiting", {}).get("reason"):
            summary.status = reason
        elif "terminated" in state:
            summary.status = _end(state["terminated"])
        elif container.get("ready") and "running" in state:
            running = True
            summary.ready += 1
    if summary.status == "Completed" and running:
        summary.status = "Running" if pod_ready else "NotReady"


def _end(ended: Json) -> str:
    if reason := ended.get("reason"):
        return str(reason)
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended['exitCode']}"


def _ready(pod: Json, now: str) -> str:
    summary = _summary(pod)
    return f"{summary.ready}/{summary.total}"


def _restart_count(pod: Json, now: str) -> str:
    summary = _summary(pod)
    return (
        f"{summary.restarts} ({age(summary.last_restart, now)} ago)"
        if summary.restarts and summary.last_restart
        else str(summary.restarts)
    )


def _address(pod: Json, now: str) -> str:
    return next((each["ip"] for each in pod.get("status", {}).get("podIPs", ()) if each.get("ip")), NONE)


def _gates(pod: Json, now: str) -> str:
    gates = pod.get("spec", {}).get("readinessGates", ())
    if not gates:
        return NONE
    true = {each["type"] for each in pod.get("status", {}).get("conditions", ()) if each.get("status") == "True"}
    return f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}"


POD_COLUMNS = (
    Column("Name", "string", lambda pod, now: pod["metadata"]["name"], format="name"),
    Column("Ready", "string", _ready),
    Column("Status", "string", lambda pod, now: _summary(pod).status),
    Column("Restarts", "string", _restart_count),
    Column("Age", "string", lambda pod, now: age(pod["metadata"].get("creationTimestamp"), now)),
    Column("IP", "string", _address, priority=1),
    Column("Node", "string", lambda pod, now: pod.get("spec", {}).get("nodeName") or NONE, priority=1),
    Column(
        "Nominated Node", "string", lambda pod, now: pod.get("status", {}).get("nominatedNodeName") or NONE, priority=1
    ),
    Column("Readiness Gates", "string", _gates, priority=1),
)


def row_conditions(pod: Json) -> list[Json]:
    """Return what a table says of the row of a pod that has ended."""
    phase = pod.get("status", {}).get("phase")
    if phase not in ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": ENDED[phase]}]
