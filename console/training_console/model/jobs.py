"""What the table of jobs says of each: the six kinds, those of plugins, and Trainer's TrainJobs next to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from training_api.kinds import KindInfo
from training_api.printable import legible
from training_api.quantity import parse
from training_console.model.reducing import reduced
from training_console.model.training import Training, of_train_job
from training_controllers.frameworks.plugins import kinds
from training_controllers.model.records import Owner
from training_local.run.endings import moment
from training_local.run.progress import progress_of
from training_operator.kube.resources import Resource

TRAIN_JOB: Final = "TrainJob"
TRAINER_GROUP: Final = "trainer.kubeflow.org"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
NEW: Final = "New"
"""State of a job without any condition yet."""
STATES: Final = ("Failed", "Restarting", "Running", NEW, "Created", "Suspended", "Succeeded")
"""In the order in which one wants to see them."""
ENDED: Final = ("Succeeded", "Failed")
ACCELERATORS: Final = ("gpu", "tpu", "gaudi", "neuron", "npu", "dcu", "mlu")
"""An extended resource counts as an accelerator if its name contains one of these: `nvidia.com/gpu`, `google.com/tpu`,
`aws.amazon.com/neuron`, `habana.ai/gaudi`, `nvidia.com/mig-1g.5gb` by its vendor."""
OWNER_LABELS: Final = ("owner", "user", "app.kubernetes.io/owner", "training.kubeflow.org/owner")


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job, as the table shows it; records of a cache must have the first five fields."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    kind: str
    plural: str
    created: datetime | None
    state: str = NEW
    message: str = ""
    """The newest condition's."""
    waiting: str = ""
    """Why the operator makes no progress with it."""
    running_since: datetime | None = None
    """When it began to run, if it runs now, or at the earliest, if it has ended; None if it has not."""
    completed: datetime | None = None
    wanted: int = 0
    """Replicas."""
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    restarts: int = 0
    accelerators: int = 0
    """That its replicas request together."""
    queue: str = ""
    """Kueue's LocalQueue."""
    belongs_to: str = ""
    """Whose it is: a label that says so, or the object that made it."""
    training: Training | None = None
    """How far it is, where its status tells."""
    revision: int = 0
    """Of all but its status: another one if the job could be judged otherwise. Known to this process only."""

    @property
    def id(self) -> str:
        """Of its element in the page."""
        return f"job-{self.uid}"

    @property
    def path(self) -> str:
        """Of its page."""
        return f"/jobs/{self.namespace}/{self.plural}/{self.name}"

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state in ENDED

    @property
    def why(self) -> str:
        """Why it waits, or failed; empty while all is well."""
        if self.state == "Failed":
            return self.message
        return "" if self.ended else self.waiting


def resources() -> list[Resource[JobRow]]:
    """Return all kinds of jobs that there may be."""
    own = [_resource(info) for info in kinds().values()]
    return [*own, Resource(TRAINER_GROUP, "v1alpha1", "trainjobs", TRAIN_JOB, reduced(_train_job))]


def _resource(info: KindInfo) -> Resource[JobRow]:
    return Resource("kubeflow.org", "v1", info.plural, info.kind, reduced(partial(row_of, info)))


def row_of(info: KindInfo, stored: Mapping[str, Any]) -> JobRow:
    """Reduce a stored job to its row."""
    row = _begun(stored, info.kind, info.plural)
    progress = progress_of(info, stored, ())
    counts = list(((stored.get("status") or {}).get("replicaStatuses") or {}).values())
    specs = (stored.get("spec") or {}).get(info.replica_field) or {}
    expected = {name.lower(): count for name, count in progress.expected.items()}
    return replace(
        row,
        state=progress.state or NEW,
        message=legible(progress.message),
        waiting=legible(str(progress.waiting)) if progress.waiting else "",
        running_since=_running_since(progress.state, progress.started_at, progress.conditions),
        completed=progress.completed_at or _ended_at(progress.conditions),
        wanted=sum(expected.values()),
        active=sum(each.get("active") or 0 for each in counts),
        succeeded=sum(each.get("succeeded") or 0 for each in counts),
        failed=sum(each.get("failed") or 0 for each in counts),
        restarts=progress.restarts,
        accelerators=sum(
            expected.get(info.canonical_type(name).lower(), 0)
            * accelerators((spec.get("template") or {}).get("spec") or {})
            for name, spec in specs.items()
        ),
    )


def _train_job(job: Mapping[str, Any]) -> JobRow:
    """Reduce a TrainJob of Trainer v2; its replicas are told by its status only."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    conditions = status.get("conditions") or []
    holding = {each["type"]: each for each in conditions if each.get("status") == "True"}
    counts = status.get("jobsStatus") or []
    active = sum(each.get("active") or 0 for each in counts)
    state = "Running" if active else ("Created" if counts else NEW)
    for kind, shown in (("Suspended", "Suspended"), ("Complete", "Succeeded"), ("Failed", "Failed")):
        state = shown if kind in holding else state
    shown_in = {"Suspended": "Suspended", "Succeeded": "Complete", "Failed": "Failed"}.get(state, "")
    trainer = spec.get("trainer") or {}
    nodes = int(trainer.get("numNodes") or 1)
    return replace(
        _begun(job, TRAIN_JOB, "trainjobs"),
        state=state,
        message=legible(str((holding.get(shown_in) or {}).get("message", ""))),
        completed=_ended_at(conditions),
        wanted=nodes,
        active=active,
        succeeded=sum(each.get("succeeded") or 0 for each in counts),
        failed=sum(each.get("failed") or 0 for each in counts),
        accelerators=nodes * _accelerators_of(trainer.get("resourcesPerNode") or {}),
        training=of_train_job(status),
    )


def _begun(stored: Mapping[str, Any], kind: str, plural: str) -> JobRow:
    metadata = stored["metadata"]
    labels = metadata.get("labels") or {}
    owners = metadata.get("ownerReferences") or ()
    made_by = next((f"{each['kind']} {each['name']}" for each in owners if each.get("controller")), "")
    labelled = next((labels[key] for key in OWNER_LABELS if key in labels), "")
    return JobRow(
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
        None,
        kind,
        plural,
        moment(metadata.get("creationTimestamp")),
        queue=labels.get(QUEUE_LABEL, ""),
        belongs_to=legible(labelled or made_by, 128),
        revision=hash((metadata.get("generation"), *_texts(labels), *_texts(metadata.get("annotations") or {}))),
    )


def _texts(mapping: Mapping[str, Any]) -> Iterable[str]:
    return (f"{key}={value}" for key, value in sorted(mapping.items()))


def _running_since(state: str, started: datetime | None, conditions: Iterable[Mapping[str, Any]]) -> datetime | None:
    """The status tells exactly when a job began that runs still; of one that has ended, when it could begin."""
    if state == "Running":
        return next((moment(each.get("lastTransitionTime")) for each in conditions if each["type"] == state), started)
    return started if state in ENDED else None


def _ended_at(conditions: Iterable[Mapping[str, Any]]) -> datetime | None:
    ends = (
        each for each in conditions if each["type"] in ("Succeeded", "Failed", "Complete") and each["status"] == "True"
    )
    return next((moment(each.get("lastTransitionTime")) for each in ends), None)


def accelerators(pod_spec: Mapping[str, Any]) -> int:
    """Return how many accelerators the containers of a pod request."""
    return sum(_accelerators_of(each.get("resources") or {}) for each in pod_spec.get("containers") or ())


def _accelerators_of(requirements: Mapping[str, Any]) -> int:
    asked = {**(requirements.get("requests") or {}), **(requirements.get("limits") or {})}
    return sum(_whole(value) for name, value in asked.items() if _is_accelerator(name))


def _is_accelerator(name: str) -> bool:
    _, slash, resource = name.partition("/")
    return bool(slash) and (any(word in resource.lower() for word in ACCELERATORS) or resource.startswith("mig-"))


def _whole(value: object) -> int:
    try:
        return int(parse(str(value)))
    except ValueError:
        return 0


def counted(rows: Iterable[JobRow]) -> Mapping[str, int]:
    """Count jobs by state, in the order of `STATES`; others follow."""
    found: dict[str, int] = dict.fromkeys(STATES, 0)
    for row in rows:
        found[row.state] = found.get(row.state, 0) + 1
    return {state: count for state, count in found.items() if count}


def by_attention(rows: Sequence[JobRow]) -> list[JobRow]:
    """Those that wait for a person first; of equals the newest first."""
    order = {state: position for position, state in enumerate(STATES)}
    newest = sorted(rows, key=lambda row: row.created.timestamp() if row.created else 0.0, reverse=True)
    return sorted(
        newest, key=lambda row: (not (row.why and not row.ended), order.get(row.state, 0) if not row.ended else 9)
    )
