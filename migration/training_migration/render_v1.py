"""What v1's operator makes of a job, by its own builders, as if all replicas existed and ran."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from training_api.kinds import Job
from training_controllers.decide.gang import pod_groups
from training_controllers.decide.job_state import JobState, observe
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.model.names import replica_name
from training_controllers.model.plan import NewPod, Slot, Snapshot
from training_controllers.model.records import Owner, PodRecord
from training_controllers.observe.slots import wanted_slots
from training_controllers.reconcile.builders import build_owned_object, build_pod, build_service
from training_migration.rendering import RenderedPod, Rendering
from training_migration.v1_job import V1Job

Json = dict[str, Any]

DEFAULT_NAMESPACE: Final = "default"
NO_UID: Final = "00000000-0000-0000-0000-000000000000"
_ANY_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)


def render_v1(job: V1Job, options: FrameworkOptions | None = None) -> Rendering:
    """All objects and pods of a job in the order of their creation, for an operator with these settings.

    A suspended job and one of another manager is rendered as if it ran here. Only the keys of an MPIJob over SSH are
    others each time. Raises CannotBuild for a job whose pods the operator could not make.
    """
    framework = job.framework if options is None else frameworks(options)[job.job.info.kind]
    here = _placed(job.job)
    slots = [slot for each in _by_turn(here, framework) for slot in wanted_slots(here, each)]
    pods = [_running(here, slot) for slot in slots]
    situation = observe(Snapshot(here, pods, (), _ANY_MOMENT), framework)
    services = [build_service(here, framework, slot) for slot in slots] if here.info.services else []
    return Rendering(
        objects=tuple(map(_plain, (*_companions(situation), *services))),
        pods=tuple(_pod(here, framework, slot) for slot in slots),
    )


def _placed(job: Job) -> Job:
    """The job in a cluster: with a namespace and a uid."""
    known = {"namespace": job.metadata.namespace or DEFAULT_NAMESPACE, "uid": job.metadata.uid or NO_UID}
    return replace(job, metadata=job.metadata.model_copy(update=known))


def _by_turn(job: Job, framework: Framework) -> list[str]:
    """Types in the order in which their pods are created: those first that others need."""
    return sorted(job.replicas, key=lambda name: name not in framework.auxiliary_types)


def _running(job: Job, slot: Slot) -> PodRecord:
    name = replica_name(job, slot)
    return PodRecord(
        namespace=job.metadata.namespace,
        name=name,
        uid=name,
        version="",
        owner=Owner(job.info.kind, job.metadata.name, job.metadata.uid),
        replica_type=slot.replica_type.lower(),
        index=slot.index,
        phase="Running",
        ready=True,
    )


def _companions(situation: JobState) -> Iterator[Json]:
    own = situation.framework.owned_objects(situation.job, situation.assignment.pods_by_slot)
    for companion in (*pod_groups(situation), *(each for each in own if not each.existing_only)):
        yield build_owned_object(situation.job, companion, os.urandom)


def _pod(job: Job, framework: Framework, slot: Slot) -> RenderedPod:
    pod = _plain(build_pod(job, framework, NewPod(slot)))
    name, spec = replica_name(job, slot), pod["spec"]
    reached = f"{spec['hostname']}.{spec['subdomain']}" if spec.get("hostname") and spec.get("subdomain") else name
    return RenderedPod(slot.replica_type.lower(), slot.index, job.main_container(slot.replica_type), reached, pod)


def _plain(obj: Json) -> Json:
    """The object in the types of JSON; the builders share what templates have in common."""
    plain: Json = json.loads(json.dumps(obj))
    return plain
