"""What must be true at every moment, checked as writes are carried out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from training_api.constants import ATTEMPT_ANNOTATION, REPLICA_INDEX_LABEL, REPLICA_TYPE_LABEL
from training_api.registry import KINDS
from training_controllers.model.annotations import DISRUPTIONS, RESTART_SCOPE

JOBS = frozenset(info.plural for info in KINDS.values())
ENDS = ("Succeeded", "Failed")
DUPLICATE = "test/duplicate"
"""Annotation of pods that a test put next to others of the same index."""

Json = dict[str, Any]
Place = tuple[str, str, str]
"""Uid of the job, replica type in lower case, index."""


class Audit:
    """Follows all that happens in one API server, and collects what should not have happened."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.failures: dict[tuple[str, str], set[str]] = defaultdict(set)
        """Uids of the pods that failed without having been asked to stop, by job and replica type.

        Those that were evicted are among them only where the job wants them to be counted.
        """
        self._pods: dict[str, Json] = {}
        self._whole: set[str] = set()
        """Uids of jobs that restart as a whole, and were neither scaled nor suspended."""
        self._spent: dict[str, set[str]] = defaultdict(set)
        """By uid of such a job: uids of the pods that were there when a failed one of them was deleted."""
        self._counting: set[str] = set()
        """Uids of jobs that count disruptions as restarts."""
        self._ends: dict[str, str] = {}
        self._restarts: dict[tuple[str, str], int] = defaultdict(int)

    @property
    def ended(self) -> Collection[str]:
        """Uids of the jobs that have succeeded or failed."""
        return self._ends.keys()

    def saw(self, plural: str, event: str, obj: Json) -> None:
        """Take note of one change, as watchers are told of it."""
        if plural == "pods":
            self._saw_pod(event, obj)
        elif plural in JOBS and event != "DELETED":
            self._saw_end(obj)
            self._saw_restarts(obj)
            self._saw_scope(obj)

    def _saw_pod(self, event: str, pod: Json) -> None:
        meta = pod["metadata"]
        place = place_of(pod)
        if place is None:
            return
        if event == "ADDED":
            self._check_alone(place, pod)
        self._note_end_of_attempt(event, pod)
        if event == "DELETED":
            self._pods.pop(meta["uid"], None)
            return
        self._pods[meta["uid"]] = pod
        if has_failed(pod) and (place[0] in self._counting or not is_evicted(pod)):
            self.failures[place[:2]].add(meta["uid"])

    def _check_alone(self, place: Place, pod: Json) -> None:
        """Never two live pods of one index, unless the test made the second one."""
        if is_duplicate(pod):
            return
        name = pod["metadata"]["name"]
        others = [p["metadata"]["name"] for p in self._pods.values() if place_of(p) == place and is_live(p)]
        if others:
            self.complaints.append(f"{name} was created beside {others} of the same index")
        self._check_attempt(place, pod)

    def _check_attempt(self, place: Place, pod: Json) -> None:
        """Never a pod of one attempt while there is any of another one, be it on its way out."""
        attempt = attempt_of(pod)
        peers = [p for p in self._pods.values() if owner_of(p) == place[0] and not is_duplicate(p)]
        others = {p["metadata"]["name"]: attempt_of(p) for p in peers if attempt_of(p) != attempt}
        if others:
            self.complaints.append(f"{pod['metadata']['name']} of attempt {attempt} was created beside {others}")
        if left := [self._pods[uid]["metadata"]["name"] for uid in self._spent[place[0]] if uid in self._pods]:
            self.complaints.append(f"{pod['metadata']['name']} was created beside {left}, which restart with it")

    def _note_end_of_attempt(self, event: str, pod: Json) -> None:
        """An attempt is over when a failed pod of it is deleted, whatever its pods say."""
        before, owner = self._pods.get(pod["metadata"]["uid"], {}), owner_of(pod)
        leaves = event == "DELETED" or pod["metadata"].get("deletionTimestamp")
        if owner in self._whole and leaves and has_failed(before) and not is_duplicate(pod):
            self._spent[owner] |= {uid for uid, p in self._pods.items() if owner_of(p) == owner and not is_duplicate(p)}

    def _saw_scope(self, job: Json) -> None:
        meta = job["metadata"]
        if meta.get("annotations", {}).get(DISRUPTIONS.annotation) == "count":
            self._counting.add(meta["uid"])
        if meta.get("annotations", {}).get(RESTART_SCOPE.annotation) == "job" and meta["generation"] == 1:
            self._whole.add(meta["uid"])
        else:
            self._whole.discard(meta["uid"])

    def _saw_end(self, job: Json) -> None:
        """A job ends once, in one way."""
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        conditions = job.get("status", {}).get("conditions", [])
        ends = [c["type"] for c in conditions if c["type"] in ENDS and c["status"] == "True"]
        before = [self._ends[uid]] if uid in self._ends else []
        if len(ends) > 1 or (before and ends != before):
            self.complaints.append(f"{name} was {before} and is {ends}")
        if ends:
            self._ends[uid] = ends[0]

    def _saw_restarts(self, job: Json) -> None:
        """Restarts never fall, and never exceed the pods that failed."""
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        for replica_type, counters in job.get("status", {}).get("replicaStatuses", {}).items():
            place, restarts = (uid, replica_type.lower()), counters.get("restarts", 0)
            if restarts < self._restarts[place]:
                self.complaints.append(f"{name}: restarts of {replica_type} fell to {restarts}")
            if restarts > len(self.failures[place]):
                failures = len(self.failures[place])
                self.complaints.append(f"{name}: {restarts} restarts of {replica_type}, but {failures} failed pods")
            self._restarts[place] = restarts


def place_of(pod: Json) -> Place | None:
    """The job and slot of a pod; None if it has no job."""
    owner = owner_of(pod)
    if owner is None:
        return None
    labels = pod["metadata"].get("labels", {})
    return owner, labels.get(REPLICA_TYPE_LABEL, ""), labels.get(REPLICA_INDEX_LABEL, "")


def owner_of(pod: Json) -> str | None:
    """Uid of the pod's job, if it has one."""
    references = pod["metadata"].get("ownerReferences", [])
    return next((each["uid"] for each in references if each.get("controller")), None)


def attempt_of(pod: Json) -> str | None:
    """The attempt that a pod belongs to, if its job has such."""
    attempt: str | None = pod["metadata"].get("annotations", {}).get(ATTEMPT_ANNOTATION)
    return attempt


def is_duplicate(pod: Json) -> bool:
    """Whether a test put the pod next to another one of the same index."""
    return DUPLICATE in pod["metadata"].get("annotations", {})


def has_failed(pod: Json) -> bool:
    """Whether the pod has failed without having been asked to stop."""
    return pod.get("status", {}).get("phase") == "Failed" and not pod["metadata"].get("deletionTimestamp")


def is_evicted(pod: Json) -> bool:
    """Whether the pod failed because its node was short of something."""
    return bool(pod.get("status", {}).get("reason") == "Evicted")


def is_live(pod: Json) -> bool:
    """Whether the pod runs or is going to."""
    return pod.get("status", {}).get("phase") not in ENDS and not pod["metadata"].get("deletionTimestamp")
