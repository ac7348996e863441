"""The pods of a run as they come and go: every one that there has been, with its last status."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from training_api.constants import REPLICA_INDEX_LABEL, REPLICA_TYPE_LABEL
from training_migration.runs.api import Api, Rejected
from training_migration.runs.job_ends import PodSeen

Json = dict[str, Any]
Place = tuple[str, int]
"""Role and index of a pod, as in `rendering.RenderedPod`."""

ROLE_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-name"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
ENDED: Final = ("Succeeded", "Failed")
_RETRY_SECONDS: Final = 0.5


def place_of(pod: Json) -> Place | None:
    """Where a pod belongs in its job, by the labels of v1's operator or of v2's controllers; None if nowhere."""
    labels = pod["metadata"].get("labels") or {}
    for role, index in ((REPLICA_TYPE_LABEL, REPLICA_INDEX_LABEL), (ROLE_LABEL, INDEX_LABEL)):
        if role in labels:
            # v1's launcher of MPI, of which there is one, has no index.
            return labels[role], int(labels.get(index, 0))
    return None


class Sightings:
    """Follows the pods of one namespace, or those of them that have certain labels."""

    def __init__(
        self, api: Api, namespace: str, selector: str = "", note: Callable[[Json], None] | None = None
    ) -> None:
        """`note` is called with each change."""
        self.pods: dict[str, Json] = {}
        """By uid, in the order in which they came."""
        self.gone: set[str] = set()
        self._api, self._namespace, self._selector, self._note = api, namespace, selector, note
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        path = await self._api.collection("v1", "Pod", self._namespace)
        while True:
            try:
                async for gone, pod in self._api.changes(path, self._selector):
                    self._take(pod, gone=gone)
            except (OSError, Rejected):
                await asyncio.sleep(_RETRY_SECONDS)

    def _take(self, pod: Json, *, gone: bool) -> None:
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        if gone:
            self.gone.add(uid)
        if self._note:
            self._note(pod)
        self._changed.set()

    async def change(self, at_most: float) -> None:
        """Wait until something has changed since the last call, or for so many seconds."""
        try:
            async with asyncio.timeout(at_most):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()

    @property
    def present(self) -> list[Json]:
        """The pods that there are."""
        return [pod for uid, pod in self.pods.items() if uid not in self.gone]

    @property
    def active(self) -> list[Json]:
        """The pods that there are and that have not ended."""
        return [pod for pod in self.present if phase_of(pod) not in ENDED]


def phase_of(pod: Json) -> str:
    """The phase of a pod."""
    return str((pod.get("status") or {}).get("phase") or "Pending")


def _container_statuses(pod: Json) -> Iterable[Json]:
    return (pod.get("status") or {}).get("containerStatuses") or ()


def exit_code_of(pod: Json, container: str) -> int | None:
    """How a container ended last; None if it has not."""
    for each in _container_statuses(pod):
        if each["name"] == container:
            for state in (each.get("state") or {}, each.get("lastState") or {}):
                if "terminated" in state:
                    return int(state["terminated"]["exitCode"])
    return None


def restarts_of(pod: Json) -> int:
    """How often containers of a pod were started again."""
    return sum(int(each.get("restartCount") or 0) for each in _container_statuses(pod))


def trouble_of(pod: Json) -> str:
    """Why a pod does not run, in one sentence; empty if it does or that is not known."""
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    for each in status.get("conditions") or ():
        if (each["type"], each["status"]) == ("PodScheduled", "False") and each.get("message"):
            return f"{name} is not placed: {each['message']}"
    for each in (*(status.get("initContainerStatuses") or ()), *_container_statuses(pod)):
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("message"):
            return f"{name}: container {each['name']} waits: {waiting.get('reason', '')}: {waiting['message']}"
    return ""


def seen(pod: Json, index: int) -> PodSeen:
    """A pod as its Job's controller sees it."""
    statuses = list(_container_statuses(pod))
    ends = {each["name"]: exit_code_of(pod, each["name"]) for each in statuses}
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return PodSeen(
        index,
        phase_of(pod),
        restarts_of(pod),
        {name: code for name, code in ends.items() if code is not None},
        ready=any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
        conditions=frozenset((each["type"], each["status"]) for each in conditions),
    )
