"""Events about pod templates that change while pods run: the pods keep the old ones (K-38)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from training_api.kinds import Job
from training_controllers.decide.job_state import JobState
from training_controllers.model.plan import EventType, JobEvent
from training_controllers.observe.pod_failures import is_active


@dataclass(frozen=True, slots=True)
class TemplateFingerprints:
    """The pod templates of a job as the process last saw them."""

    generation: int
    fingerprints: Mapping[str, bytes]
    """The fingerprint of the template of each replica type."""


def fingerprint_templates(job: Job, before: TemplateFingerprints | None) -> TemplateFingerprints:
    """The fingerprints of the templates; only a new generation of the job can have others."""
    generation = job.metadata.generation
    if before is not None and before.generation == generation:
        return before
    return TemplateFingerprints(generation, {name: _fingerprint(spec.template) for name, spec in job.replicas.items()})


def changed_types(job: Job, before: TemplateFingerprints | None) -> frozenset[str] | None:
    """The types that had another template before; None if the spec has changed but it is unknown where.

    After a restart of the operator `observedGeneration` shows that a spec has changed, but not where.
    """
    if before is None:
        observed = job.status.observed_generation
        return None if observed is not None and observed < job.metadata.generation else frozenset()
    known, present = before.fingerprints, fingerprint_templates(job, before).fingerprints
    return frozenset(name for name, each in present.items() if known.get(name, each) != each)


def template_changes(state: JobState) -> Iterator[JobEvent]:
    """One event for each change of templates of which pods run."""
    running = {slot.replica_type for slot, pod in state.assignment.pods_by_slot.items() if is_active(pod)}
    types = state.snapshot.changed_templates
    if types is None and running:
        text = "The spec has changed while no operator ran; pods that run keep the template they were created from"
        yield JobEvent(EventType.NORMAL, "TemplateChanged", text)
    elif types and (concerned := [name for name in state.job.replicas if name in running & set(types)]):
        text = f"The pod template of {', '.join(concerned)} has changed; pods that run keep the old one"
        yield JobEvent(EventType.NORMAL, "TemplateChanged", text)


def _fingerprint(template: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(template, order="sorted"), digest_size=8).digest()
