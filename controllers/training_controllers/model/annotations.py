"""Annotations that ask for behaviour beyond v1's; an unknown one or a bad value emits a warning and has no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from training_api.constants import EXTENSION_PREFIX, GANG_SCHEDULING_ANNOTATION
from training_api.kinds import Job
from training_api.models.common import RestartPolicy
from training_controllers.model.plan import EventType, JobEvent


@dataclass(frozen=True, slots=True)
class JobAnnotation:
    """One annotation of jobs, by its name behind the prefix."""

    name: str
    values: tuple[str, ...]
    """Its possible values; the first is the default."""
    by_policy: Mapping[RestartPolicy, str] = field(default_factory=dict)
    """Other defaults, for replicas with these restart policies."""

    @property
    def annotation(self) -> str:
        """The whole key of the annotation."""
        return EXTENSION_PREFIX + self.name

    def of(self, job: Job, policy: RestartPolicy | None = None) -> str:
        """The job's value, or the default (of replicas with this policy) if that is absent or unknown."""
        value = job.metadata.annotations.get(self.annotation)
        if value in self.values:
            return value
        return self.by_policy.get(policy, self.values[0]) if policy is not None else self.values[0]

    @property
    def default(self) -> str:
        """The default, in words."""
        others = (f'; "{value}" to replicas with restart policy {policy}' for policy, value in self.by_policy.items())
        return f'"{self.values[0]}" applies' + "".join(others)


GANG_SCHEDULING: Final = JobAnnotation(GANG_SCHEDULING_ANNOTATION.removeprefix(EXTENSION_PREFIX), ("true", "false"))
RESTART_SCOPE: Final = JobAnnotation("restart-scope", ("pod", "job"))
DISRUPTIONS: Final = JobAnnotation("disruptions", ("restart", "count", "fail"), {RestartPolicy.NEVER: "fail"})
COMMON_ANNOTATIONS: Final = (GANG_SCHEDULING, RESTART_SCOPE, DISRUPTIONS)


def restarts_together(job: Job) -> bool:
    """Whether all replicas restart when one does."""
    return RESTART_SCOPE.of(job) == "job"


def annotation_warnings(job: Job, of_this_kind: Sequence[JobAnnotation]) -> tuple[JobEvent, ...]:
    """One warning for each annotation under our prefix that jobs of this kind do not have, or with another value."""
    known = {declared.annotation: declared for declared in (*COMMON_ANNOTATIONS, *of_this_kind)}
    texts = _complaints(job, known)
    return tuple(JobEvent(EventType.WARNING, "BadAnnotation", text, once=f"annotation/{text}") for text in texts)


def _complaints(job: Job, known: dict[str, JobAnnotation]) -> Iterator[str]:
    for annotation, value in sorted(job.metadata.annotations.items()):
        if not annotation.startswith(EXTENSION_PREFIX):
            continue
        declared = known.get(annotation)
        if declared is None:
            names = ", ".join(sorted(declared.name for declared in known.values()))
            yield f"annotation {annotation} has no effect: with this prefix {job.info.kind}s support {names}"
        elif value not in declared.values:
            choices = " or ".join(f'"{each}"' for each in declared.values)
            yield f"annotation {annotation}: {value!r} must be {choices}; {declared.default}"
