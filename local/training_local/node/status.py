"""The status of a pod as a kubelet reports it, worked out from the states of its containers; no effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from training_api.models.common import rfc3339
from training_local.node.podspec import Container, Pod, Wire
from training_local.node.probes import Health


@dataclass(frozen=True, slots=True)
class Waiting:
    """A container that does not run yet, or not again."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A container whose process runs."""

    started_at: datetime
    container_id: str = ""


@dataclass(frozen=True, slots=True)
class Terminated:
    """A container whose process has ended."""

    exit_code: int
    reason: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    signal: int = 0
    message: str = ""
    container_id: str = ""
    restarting: bool = False
    """Whether the node has ended it in order to start it again; not part of the status."""


State = Waiting | Running | Terminated

ENDS = ("Succeeded", "Failed")
EVICTED = "Evicted"

CREATING = Waiting("ContainerCreating")
INITIALIZING = Waiting("PodInitializing")


@dataclass(frozen=True, slots=True)
class ContainerView:
    """What is known of one container."""

    state: State = CREATING
    last: Terminated | None = None
    restarts: int = 0
    health: Health = field(default_factory=Health)
    """What its probes say, while it runs."""

    def to(self, state: State) -> ContainerView:
        """The view after a change; a termination is remembered when the next state comes."""
        last = self.state if isinstance(self.state, Terminated) else self.last
        return replace(self, state=state, last=last)


@dataclass(frozen=True, slots=True)
class PodView:
    """What is known of a pod."""

    containers: Mapping[str, ContainerView]
    """By name, init containers included."""
    started_at: datetime
    address: str = ""
    host_ip: str = ""
    failure: tuple[str, str] | None = None
    """Reason and message if the node has failed the pod itself (`DeadlineExceeded`, `Evicted`)."""
    conditions: Sequence[Wire] = field(default_factory=tuple)
    """The stored ones: transition times and conditions of others are kept."""


def restartable(pod: Pod, container: Container) -> bool:
    """Whether it is a sidecar: an init container that runs along with the main containers."""
    return container in pod.spec.init_containers and container.restart_policy == "Always"


def restarts(pod: Pod, container: Container, exit_code: int) -> bool:
    """Whether a container is started again after it has ended with `exit_code`."""
    if restartable(pod, container):
        return True
    if pod.spec.restart_policy == "Never":
        return False
    # An init container that has succeeded has done its work, whatever the policy.
    always = pod.spec.restart_policy == "Always" and container not in pod.spec.init_containers
    return always or exit_code != 0


def initialized(pod: Pod, view: PodView) -> bool:
    """Whether every init container has done its work and every sidecar has been started."""
    return all(_init_done(pod, c, view.containers[c.name]) for c in pod.spec.init_containers)


def _init_done(pod: Pod, container: Container, known: ContainerView) -> bool:
    if restartable(pod, container):
        running = isinstance(known.state, Running) and known.health.started
        return running or known.last is not None or isinstance(known.state, Terminated)
    return isinstance(known.state, Terminated) and known.state.exit_code == 0


def ready(view: PodView, container: Container) -> bool:
    """Whether a container takes part in the pod's work: its process runs, and its probes have nothing against it."""
    known = view.containers[container.name]
    return isinstance(known.state, Running) and known.health.ready


def phase(pod: Pod, view: PodView) -> str:
    """The pod's phase: it is an end only when no process is left."""
    reached = _phase(pod, view)
    if reached in ENDS and any(isinstance(known.state, Running) for known in view.containers.values()):
        return "Running" if initialized(pod, view) else "Pending"
    return reached


def _phase(pod: Pod, view: PodView) -> str:
    if view.failure:
        return "Failed"
    if not initialized(pod, view):
        failed = any(_failed_for_good(pod, c, view) for c in pod.spec.init_containers)
        return "Failed" if failed else "Pending"
    known = [view.containers[c.name] for c in pod.spec.containers]
    if all(isinstance(k.state, Waiting) and k.last is None for k in known):
        return "Pending"
    ended = [k.state for k in known if isinstance(k.state, Terminated)]
    again = any(e.restarting or restarts(pod, c, e.exit_code) for c, e in _endings(pod, view))
    if len(ended) < len(known) or again:
        return "Running" if all(isinstance(k.state, Running | Terminated) or k.last for k in known) else "Pending"
    return "Succeeded" if all(e.exit_code == 0 for e in ended) else "Failed"


def _endings(pod: Pod, view: PodView) -> list[tuple[Container, Terminated]]:
    states = [(c, view.containers[c.name].state) for c in pod.spec.containers]
    return [(c, state) for c, state in states if isinstance(state, Terminated)]


def _failed_for_good(pod: Pod, container: Container, view: PodView) -> bool:
    state = view.containers[container.name].state
    return isinstance(state, Terminated) and state.exit_code != 0 and not restarts(pod, container, state.exit_code)


def render(pod: Pod, view: PodView, now: datetime) -> dict[str, Any]:
    """The status to store: a merge patch, in which None takes a field away."""
    current = phase(pod, view)
    reason, message = view.failure or (None, None)
    statuses = {c.name: _container_status(pod, c, view, current) for c in pod.containers}
    return {
        "phase": current,
        "reason": reason,
        "message": message,
        "startTime": rfc3339(view.started_at),
        "hostIP": view.host_ip,
        "hostIPs": [{"ip": view.host_ip}],
        "podIP": view.address or None,
        "podIPs": [{"ip": view.address}] if view.address else None,
        "conditions": _conditions(pod, view, current, now),
        "initContainerStatuses": [statuses[c.name] for c in pod.spec.init_containers] or None,
        # Sorted, as a kubelet shows them.
        "containerStatuses": [statuses[name] for name in sorted(c.name for c in pod.spec.containers)],
    }


def _container_status(pod: Pod, container: Container, view: PodView, current: str) -> dict[str, Any]:
    known = view.containers[container.name]
    running = isinstance(known.state, Running)
    init = container in pod.spec.init_containers and not restartable(pod, container)
    done = isinstance(known.state, Terminated) and known.state.exit_code == 0
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "containerID": _container_id(known),
        "ready": done if init else running and known.health.ready and current not in ENDS,
        "started": running and known.health.started,
        "restartCount": known.restarts,
        "state": _state(known.state),
        "lastState": _state(known.last) if known.last else {},
    }


def _container_id(known: ContainerView) -> str | None:
    """The id of what runs or ran last; None if nothing has."""
    latest = known.last if isinstance(known.state, Waiting) else known.state
    return (latest.container_id or None) if latest else None


def _state(state: State) -> dict[str, Any]:
    match state:
        case Waiting():
            return {"waiting": {"reason": state.reason, **({"message": state.message} if state.message else {})}}
        case Running():
            return {"running": {"startedAt": rfc3339(state.started_at)}}
        case Terminated():
            optional = {
                "signal": state.signal,
                "message": state.message,
                "containerID": state.container_id,
                "startedAt": state.started_at and rfc3339(state.started_at),
                "finishedAt": state.finished_at and rfc3339(state.finished_at),
            }
            shown = {key: value for key, value in optional.items() if value}
            return {"terminated": {"exitCode": state.exit_code, "reason": state.reason, **shown}}


def _conditions(pod: Pod, view: PodView, current: str, now: datetime) -> list[Wire]:
    done = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(current)
    unready = [c.name for c in pod.spec.containers if not ready(view, c)]
    uninitialized = [c.name for c in pod.spec.init_containers if not _init_done(pod, c, view.containers[c.name])]
    if done:
        not_ready = {"status": "False", "reason": done}
    else:
        not_ready = _unless(unready, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    incomplete = f"containers with incomplete status: [{' '.join(uninitialized)}]"
    wanted = {
        "PodReadyToStartContainers": {"status": "True" if view.address and not done else "False"},
        "Initialized": _unless(uninitialized, "ContainersNotInitialized", incomplete)
        | ({"reason": "PodCompleted"} if current == "Succeeded" else {}),
        "Ready": not_ready,
        "ContainersReady": not_ready,
        "PodScheduled": {"status": "True"},
    }
    if view.failure and view.failure[0] == EVICTED:
        wanted["DisruptionTarget"] = {"status": "True", "reason": "TerminationByKubelet", "message": view.failure[1]}
    return merge_conditions(view.conditions, wanted, now)


def _unless(names: Sequence[str], reason: str, message: str) -> dict[str, str]:
    return {"status": "False", "reason": reason, "message": message} if names else {"status": "True"}


def merge_conditions(stored: Sequence[Wire], wanted: Mapping[str, Wire], now: datetime) -> list[Wire]:
    """Our conditions, with the time of their last change, then those that others have set."""
    before = {condition["type"]: condition for condition in stored}
    ours = []
    for name, content in wanted.items():
        old = before.get(name, {})
        same = old.get("status") == content["status"] and "lastTransitionTime" in old
        changed = old["lastTransitionTime"] if same else rfc3339(now)
        ours.append({"type": name, "lastProbeTime": None, "lastTransitionTime": changed, **content})
    return [*ours, *(condition for name, condition in before.items() if name not in wanted)]


def recovered(pod: Pod, now: datetime) -> dict[str, ContainerView]:
    """What the stored status says of the containers of a pod that this node has started in an earlier life.

    Processes do not outlive the node, so what ran then was killed, with an unknown exit code.
    """
    stored = [*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ())]
    return {each["name"]: _recovered(each, now) for each in stored}


def started_at(pod: Pod) -> datetime | None:
    """When the pod was first seen by its node, as stored; None if it is new."""
    return _moment(pod.status.get("startTime"))


def _recovered(stored: Wire, now: datetime) -> ContainerView:
    state, last = stored.get("state") or {}, (stored.get("lastState") or {}).get("terminated")
    view = ContainerView(CREATING, _ended(last) if last else None, stored.get("restartCount", 0))
    if terminated := state.get("terminated"):
        return replace(view, state=_ended(terminated))
    if running := state.get("running"):
        begun = _moment(running.get("startedAt"))
        said, id = "the node has restarted", stored.get("containerID") or ""
        ended = Terminated(137, "ContainerStatusUnknown", begun, now, message=said, container_id=id)
        return replace(view, state=ended)
    return view


def _ended(stored: Wire) -> Terminated:
    return Terminated(
        exit_code=stored["exitCode"],
        reason=stored.get("reason", ""),
        started_at=_moment(stored.get("startedAt")),
        finished_at=_moment(stored.get("finishedAt")),
        signal=stored.get("signal", 0),
        message=stored.get("message", ""),
        container_id=stored.get("containerID", ""),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
