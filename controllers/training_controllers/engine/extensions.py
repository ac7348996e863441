"""Behaviour beyond v1's that a job asks for by annotations; what they say wrongly is told, and the default applies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from training_api.constants import EXTENSION_PREFIX, GANG_SCHEDULING_ANNOTATION
from training_api.kinds import Job
from training_api.models.common import RestartPolicy
from training_controllers.engine.model import EventType, JobEvent


@dataclass(frozen=True, slots=True)
class Extension:
    """One annotation of jobs, by its name behind the prefix."""

    name: str
    values: tuple[str, ...]
    """What it may say; the first one is what a job without it gets."""
    by_policy: Mapping[RestartPolicy, str] = field(default_factory=dict)
    """What replicas with these restart policies get instead."""

    @property
    def annotation(self) -> str:
        """The whole key of the annotation."""
        return EXTENSION_PREFIX + self.name

    def of(self, job: Job, policy: RestartPolicy | None = None) -> str:
        """What the job asks for, or the default (of replicas with this policy) if it asks for nothing that is known."""
        value = job.metadata.annotations.get(self.annotation, "")
        if value in self.values:
            return value
        return self.by_policy.get(policy, self.values[0]) if policy is not None else self.values[0]

    @property
    def default(self) -> str:
        """The default, in words."""
        others = (f'; "{value}" to replicas with restart policy {policy}' for policy, value in self.by_policy.items())
        return f'"{self.values[0]}" applies' + "".join(others)


GANG_SCHEDULING: Final = Extension(GANG_SCHEDULING_ANNOTATION.removeprefix(EXTENSION_PREFIX), ("true", "false"))
RESTART_SCOPE: Final = Extension("restart-scope", ("pod", "job"))
DISRUPTIONS: Final = Extension("disruptions", ("restart", "count", "fail"), {RestartPolicy.NEVER: "fail"})
OF_ALL_KINDS: Final = (GANG_SCHEDULING, RESTART_SCOPE, DISRUPTIONS)


def restarts_together(job: Job) -> bool:
    """Whether a replica that restarts takes all others along."""
    return RESTART_SCOPE.of(job) == "job"


def extension_warnings(job: Job, of_this_kind: Sequence[Extension]) -> tuple[JobEvent, ...]:
    """One warning for each annotation under our prefix that jobs of this kind do not have, or with another value."""
    known = {extension.annotation: extension for extension in (*OF_ALL_KINDS, *of_this_kind)}
    texts = _complaints(job, known)
    return tuple(JobEvent(EventType.WARNING, "BadAnnotation", text, once=f"annotation/{text}") for text in texts)


def _complaints(job: Job, known: dict[str, Extension]) -> Iterator[str]:
    for annotation, value in sorted(job.metadata.annotations.items()):
        if not annotation.startswith(EXTENSION_PREFIX):
            continue
        extension = known.get(annotation)
        if extension is None:
            names = ", ".join(sorted(extension.name for extension in known.values()))
            yield f"annotation {annotation} has no effect: under this prefix, {job.info.kind}s know {names}"
        elif value not in extension.values:
            choices = " or ".join(f'"{each}"' for each in extension.values)
            yield f"annotation {annotation}: {value!r} must be {choices}; {extension.default}"
