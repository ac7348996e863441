"""Which waiting pods the node can take: decided and explained as the scheduler of Kubernetes does, without effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from training_local.node.podspec import PODS, Pod, Port, Wire
from training_local.node.volumes import claims as used_claims

_NO_SCHEDULE = ("NoSchedule", "NoExecute")
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_EVERYWHERE = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Machine:
    """The node as the scheduler sees it."""

    name: str
    allocatable: Mapping[str, int]
    """Resource -> amount: thousandths of processors, else whole units."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Wire] = ()
    unschedulable: bool = False
    own_networks: bool = False
    """Whether pods with `hostNetwork` have a network of their own all the same, so that their ports never collide."""


class Decision(NamedTuple):
    """What becomes of a waiting pod."""

    pod: Pod
    message: str
    """The scheduler's sentence; empty if the pod is placed."""


class _Reasons(NamedTuple):
    """Why a pod does not fit, and whether it would if other pods were not there."""

    texts: Sequence[str]
    resolvable: bool = False


def decide(
    waiting: Iterable[Pod], placed: Iterable[Pod], machine: Machine, claims: Collection[tuple[str, str]]
) -> Iterator[Decision]:
    """Decide for each waiting pod in turn: higher priority first, then as given.

    `placed` are the pods that use the machine, `claims` the volume claims there are, as (namespace, name). A pod that
    fits takes its place before the next one is looked at; one that does not fit keeps no other waiting.
    """
    occupied = _Occupied(machine)
    for pod in placed:
        occupied.take(pod)
    for pod in sorted(waiting, key=lambda pod: -pod.spec.priority):
        message = _unschedulable(pod, occupied, claims)
        if not message:
            occupied.take(pod)
        yield Decision(pod, message)


class _Occupied:
    """A machine and what is taken of it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._used: Counter[str] = Counter()
        self._ports: list[Port] = []

    def take(self, pod: Pod) -> None:
        """Give a pod its place."""
        self._used.update(pod.requests)
        self._ports += self._wanted_ports(pod)

    def _wanted_ports(self, pod: Pod) -> list[Port]:
        if pod.spec.host_network and self.machine.own_networks:
            return []
        return [port for container in pod.containers for port in container.ports if port.host_port]

    def port_conflict(self, pod: Pod) -> bool:
        """Whether another pod has one of the pod's host ports."""
        return any(_same_port(ours, theirs) for ours in self._wanted_ports(pod) for theirs in self._ports)

    def shortage(self, pod: Pod) -> _Reasons | None:
        """Which resources there is not enough of."""
        wanted, there = pod.requests, self.machine.allocatable
        short = [name for name, amount in wanted.items() if amount > there.get(name, 0) - self._used[name]]
        if not short:
            return None
        texts = ["Too many pods" if name == PODS else f"Insufficient {name}" for name in short]
        return _Reasons(sorted(texts), all(wanted[name] <= there.get(name, 0) for name in wanted))


def _unschedulable(pod: Pod, occupied: _Occupied, claims: Collection[tuple[str, str]]) -> str:
    """The scheduler's sentence; empty if the pod fits."""
    for wanted in used_claims(pod):
        if wanted not in claims:
            # The repetition is the scheduler's.
            return f'0/1 nodes are available: persistentvolumeclaim "{wanted[1]}" not found. not found'
    reasons = _reasons(pod, occupied)
    if reasons is None:
        return ""
    counted = ", ".join(f"1 {text}" for text in reasons.texts)
    return f"0/1 nodes are available: {counted}. no new claims to deallocate, preemption: {_preemption(pod, reasons)}"


def _preemption(pod: Pod, reasons: _Reasons) -> str:
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    why = (
        "No preemption victims found for incoming pod"
        if reasons.resolvable
        else "Preemption is not helpful for scheduling"
    )
    return f"0/1 nodes are available: 1 {why}."


def _reasons(pod: Pod, occupied: _Occupied) -> _Reasons | None:
    """The first of the scheduler's filters, in its order, that the pod does not pass."""
    machine, spec = occupied.machine, pod.spec
    if _named_elsewhere(pod, machine):
        return _Reasons(["node(s) didn't satisfy plugin(s) [NodeAffinity]"])
    if machine.unschedulable and not _tolerated(_CORDONED, spec.tolerations):
        return _Reasons(["node(s) were unschedulable"])
    taints = [taint for taint in machine.taints if taint.get("effect") in _NO_SCHEDULE]
    if any(not _tolerated(taint, spec.tolerations) for taint in taints):
        return _Reasons(["node(s) had untolerated taint(s)"])
    if not _selected(pod, machine):
        return _Reasons(["node(s) didn't match Pod's node affinity/selector"])
    if occupied.port_conflict(pod):
        return _Reasons(["node(s) didn't have free ports for the requested pod ports"], resolvable=True)
    return occupied.shortage(pod)


def _same_port(one: Port, other: Port) -> bool:
    ones, others = one.host_ip or _EVERYWHERE, other.host_ip or _EVERYWHERE
    same_address = ones == others or _EVERYWHERE in (ones, others)
    return (one.host_port, one.protocol) == (other.host_port, other.protocol) and same_address


def _tolerated(taint: Wire, tolerations: Iterable[Wire]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Wire, taint: Wire) -> bool:
    """The rules of `core/v1.Toleration`: an absent key with operator Exists, or an absent effect, means any."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _terms(pod: Pod) -> Sequence[Wire] | None:
    affinity = (pod.spec.affinity or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or ()


def _named_elsewhere(pod: Pod, machine: Machine) -> bool:
    """Whether the pod names the nodes that it may run on, and this is none of them."""
    named = [
        {value for each in term.get("matchFields") or () if each["operator"] == "In" for value in each["values"]}
        for term in _terms(pod) or ()
    ]
    return bool(named) and all(names and machine.name not in names for names in named)


def _selected(pod: Pod, machine: Machine) -> bool:
    if any(machine.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    terms = _terms(pod)
    return terms is None or any(_term_matches(term, machine) for term in terms)


def _term_matches(term: Wire, machine: Machine) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    own = {"metadata.name": machine.name}
    if not expressions and not fields:
        return False
    return all(_matches(each, machine.labels) for each in expressions) and all(_matches(each, own) for each in fields)


def _matches(requirement: Wire, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement["key"])
    values: Sequence[str] = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        ours, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return ours > bound if requirement["operator"] == "Gt" else ours < bound
