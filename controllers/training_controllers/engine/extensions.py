"""Behaviour beyond v1's that a job asks for by annotations; what they say wrongly is told, and the default applies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training_api.constants import EXTENSION_PREFIX
from training_api.kinds import Job
from training_controllers.engine.model import EventType, JobEvent


@dataclass(frozen=True, slots=True)
class Extension:
    """One annotation of jobs, by its name behind the prefix."""

    name: str
    values: tuple[str, ...]
    """What it may say; the first one is what a job without it gets."""

    @property
    def annotation(self) -> str:
        """The whole key of the annotation."""
        return EXTENSION_PREFIX + self.name

    def of(self, job: Job) -> str:
        """What the job asks for, or the default if it asks for nothing that is known."""
        value = job.metadata.annotations.get(self.annotation, "")
        return value if value in self.values else self.values[0]


def extension_warnings(job: Job, known: Sequence[Extension]) -> tuple[JobEvent, ...]:
    """One warning for each annotation under our prefix that jobs of this kind do not have, or with another value."""
    texts = _complaints(job, {extension.annotation: extension for extension in known})
    return tuple(JobEvent(EventType.WARNING, "InvalidExtension", text, once=f"extension/{text}") for text in texts)


def _complaints(job: Job, known: dict[str, Extension]) -> Iterator[str]:
    for annotation, value in sorted(job.metadata.annotations.items()):
        if not annotation.startswith(EXTENSION_PREFIX):
            continue
        extension = known.get(annotation)
        if extension is None:
            names = f"known are: {', '.join(sorted(known))}" if known else "there are none"
            yield f"annotation {annotation} has no effect: {job.info.kind}s do not know it; {names}"
        elif value not in extension.values:
            choices = " or ".join(f'"{each}"' for each in extension.values)
            yield f'annotation {annotation}: "{value}" must be {choices}; "{extension.values[0]}" applies'
