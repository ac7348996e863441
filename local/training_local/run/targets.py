"""Which job or pod a user means: by its own name, by kind and name, or by the short name of a replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import API_VERSION, JOB_NAME_LABEL, OPERATOR_NAME_LABEL
from training_api.kinds import KindInfo
from training_controllers.frameworks.plugins import kinds
from training_local.errors import BadInput
from training_local.run.progress import JobRef, Replica, replica_of
from training_local.run.watching import message_of
from training_operator.kube.transport import Request, Transport

POD_WORDS: Final = ("pod", "pods", "po")
_MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class PodRef:
    """A pod, and what it is part of."""

    namespace: str
    replica: Replica
    stored: Mapping[str, Any]
    job: JobRef | None = None

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.replica.pod}"

    @property
    def container(self) -> str:
        """The container that is meant where none is named: the one that trains; empty for a pod of no job."""
        return self.job.info.container if self.job else ""


@dataclass(frozen=True, slots=True)
class Contents:
    """The jobs and pods from which a user chooses."""

    jobs: Sequence[JobRef]
    pods: Sequence[PodRef]


async def contents(transport: Transport, namespace: str | None) -> Contents:
    """Return the jobs and pods of a namespace, or of all; raises `BadInput` if they may not be listed."""
    within = f"namespaces/{namespace}/" if namespace else ""
    infos = list(kinds().values())
    paths = [f"/api/v1/{within}pods", *(f"/apis/{API_VERSION}/{within}{info.plural}" for info in infos)]
    pods, *jobs = await asyncio.gather(*(_items(transport, path) for path in paths))
    return Contents(
        [_job(info, job["metadata"]) for info, found in zip(infos, jobs, strict=True) for job in found],
        [PodRef(pod["metadata"]["namespace"], replica_of(pod), pod, _owner(pod)) for pod in pods],
    )


async def _items(transport: Transport, path: str) -> list[dict[str, Any]]:
    answer = await transport.request(Request("GET", path))
    if answer.status == 404:  # a cluster may lack the CRDs of some kinds
        return []
    if answer.status != 200:
        raise BadInput(message_of(answer))
    return list(json.loads(answer.body)["items"])


def _job(info: KindInfo, metadata: Mapping[str, Any]) -> JobRef:
    return JobRef(info, metadata["namespace"], metadata["name"])


def _owner(pod: Mapping[str, Any]) -> JobRef | None:
    labels = pod["metadata"].get("labels") or {}
    info = next((i for i in kinds().values() if i.controller_name == labels.get(OPERATOR_NAME_LABEL)), None)
    if info is None or JOB_NAME_LABEL not in labels:
        return None
    return JobRef(info, pod["metadata"]["namespace"], labels[JOB_NAME_LABEL])


def chosen(text: str | None, there: Contents) -> JobRef | PodRef:
    """Return the job or pod that `text` names; None means the only job there is.

    Raises `BadInput` saying what there is if nothing or more than one thing has the name.
    """
    if text is None:
        return _only(there.jobs, "there is no job", "there are several jobs", there)
    several = f"there are several {text}"
    kind, _, name = text.rpartition("/")
    if kind in POD_WORDS:
        return _only([p for p in there.pods if p.replica.pod == name], f"{text} does not exist", several, there)
    if info := _kind(kind):
        return _only(
            [j for j in there.jobs if j.info is info and j.name == name], f"{text} does not exist", several, there
        )
    if kind:
        return chosen_pod(text, there)
    jobs = [job for job in there.jobs if job.name == name]
    found: Sequence[JobRef | PodRef] = jobs or _pods_called(name, there)
    return _only(found, f"there is no job or pod {text}", several, there)


def chosen_pod(text: str, there: Contents) -> PodRef:
    """Return the pod that `text` names: its name, `worker-0`, or `JOB/worker-0` if several jobs have one."""
    job, _, name = text.rpartition("/")
    wanted = there
    if job and job not in POD_WORDS:
        wanted = Contents((), [p for p in there.pods if p.job is not None and p.job.name == job])
    missing = f"there is no pod {name}{f' of job {job}' if wanted is not there else ''}"
    pods = Contents((), wanted.pods or there.pods)
    found = _only(_pods_called(name, wanted), missing, f"there are several pods {text}", pods)
    assert isinstance(found, PodRef)
    return found


def _pods_called(name: str, there: Contents) -> list[PodRef]:
    """The pods of that name, else those whose short name it is."""
    named = [pod for pod in there.pods if pod.replica.pod == name]
    return named or [pod for pod in there.pods if pod.replica.short_name == name]


def _kind(word: str) -> KindInfo | None:
    folded = word.lower().partition(".")[0]
    return next((i for i in kinds().values() if folded in {i.singular, i.plural, *i.short_names}), None)


def _only(found: Sequence[JobRef | PodRef], missing: str, several: str, there: Contents) -> JobRef | PodRef:
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"{several}, name one of: {_listed(found)}")
    known = _listed([*there.jobs, *there.pods])
    raise BadInput(f"{missing}; there is: {known}" if known else f"{missing}; there is nothing in the cluster yet")


def _listed(known: Sequence[JobRef | PodRef]) -> str:
    names = [_title(each) for each in known[:_MOST_LISTED]]
    more = len(known) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _title(known: JobRef | PodRef) -> str:
    if isinstance(known, JobRef):
        return f"{known.info.singular}/{known.name} (-n {known.namespace})"
    return f"{known.replica.pod} ({known.replica.stands})"
