"""Binding pending pods to the node as soon as they fit, and reporting why the others are unschedulable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import structlog

from training_local.node import scheduler
from training_local.node.api import TransportApi
from training_local.node.podspec import Pod, Wire, amounts
from training_local.node.scheduler import Machine
from training_local.node.status import merge_conditions

_log = structlog.get_logger(__name__)

_RETRY_SECONDS = 1.0
_NO_NODE = "no nodes available to schedule pods"


class Placement:
    """Follows pods, node and volume claims, and decides anew whenever one of them may change a decision."""

    def __init__(self, api: TransportApi, node_name: str, *, own_networks: bool) -> None:
        self._api, self._name, self._own_networks = api, node_name, own_networks
        self._pods: dict[str, Pod] = {}
        """Pods that wait or take place, in the order of their arrival."""
        self._assigned: set[str] = set()
        """Pods whose assignment has been written."""
        self._reported: dict[str, str] = {}
        self._machine: Machine | None = None
        self._node_seen = asyncio.Event()
        self._claims: set[tuple[str, str]] = set()
        self._stale = asyncio.Event()

    def put_pod(self, pod: Pod, *, gone: bool) -> None:
        """Note a change of a pod."""
        uid, before = pod.metadata.uid, self._pods.get(pod.metadata.uid)
        elsewhere = pod.spec.node_name not in ("", self._name)
        if gone or pod.finished or elsewhere:
            for forgotten in (self._pods, self._reported):
                forgotten.pop(uid, None)
            self._assigned.discard(uid)
            changed = before is not None
        else:
            self._pods[uid] = pod
            changed = self._waits(pod) and (before is None or before.spec != pod.spec)
        if changed:
            self._stale.set()

    def put_node(self, node: Wire, *, gone: bool) -> None:
        """Note a change of a node: its capacity, labels, taints."""
        if node["metadata"]["name"] != self._name:
            return
        spec, status = node.get("spec") or {}, node.get("status") or {}
        machine = Machine(
            self._name,
            amounts(status.get("allocatable") or {}),
            node["metadata"].get("labels") or {},
            spec.get("taints") or (),
            bool(spec.get("unschedulable")),
            self._own_networks,
        )
        self._node_seen.set()
        if (new := None if gone else machine) != self._machine:
            self._machine = new
            self._stale.set()

    def put_claim(self, claim: Wire, *, gone: bool) -> None:
        """Note a change of a volume claim."""
        key = (claim["metadata"]["namespace"], claim["metadata"]["name"])
        if gone:
            self._claims.discard(key)
        elif key not in self._claims:
            self._claims.add(key)
            self._stale.set()

    async def run(self) -> None:
        """Work until cancelled."""
        await self._node_seen.wait()  # pods may be heard of first
        while True:
            await self._stale.wait()
            await asyncio.sleep(0)  # what changes in one turn of the loop is decided at once
            self._stale.clear()
            for pod, message in list(self._decide()):
                try:
                    await (self._report(pod, message) if message else self._assign(pod))
                except OSError as error:
                    _log.warning("pod not placed", pod=pod.metadata.name, error=str(error))
                    asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._stale.set)

    def _waits(self, pod: Pod) -> bool:
        held = pod.metadata.deletion_timestamp or pod.spec.scheduling_gates
        return not (pod.spec.node_name or pod.metadata.uid in self._assigned or held)

    def _decide(self) -> Iterator[tuple[Pod, str]]:
        waiting = [pod for pod in self._pods.values() if self._waits(pod)]
        if self._machine is None:
            return ((pod, _NO_NODE) for pod in waiting)
        placed = (pod for uid, pod in self._pods.items() if pod.spec.node_name or uid in self._assigned)
        return scheduler.decide(waiting, placed, self._machine, self._claims)

    async def _assign(self, pod: Pod) -> None:
        where = f"{pod.metadata.namespace}/{pod.metadata.name}"
        await self._api.bind(pod.metadata, self._name)
        self._assigned.add(pod.metadata.uid)
        message = f"Successfully assigned {where} to {self._name}"
        await self._api.record(pod.metadata, "Normal", "Scheduled", message)

    async def _report(self, pod: Pod, message: str) -> None:
        uid = pod.metadata.uid
        if self._reported.get(uid) == message:
            return
        condition = {"status": "False", "reason": "Unschedulable", "message": message}
        stored = pod.status.get("conditions") or ()
        conditions = merge_conditions(stored, {"PodScheduled": condition}, datetime.now(UTC))
        await self._api.patch_status(pod.metadata, {"conditions": conditions})
        self._reported[uid] = message
        await self._api.record(pod.metadata, "Warning", "FailedScheduling", message)
