"""Everything that can be said about objects without running them, in the words of the API server and the operator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from training_api.constants import API_VERSION, MAX_REPLICAS
from training_api.crd.build import build
from training_api.decode import DecodeError, decode_job
from training_api.defaults import with_defaults
from training_api.documents import Document, place
from training_api.kinds import Job, KindInfo
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.plugins import kinds
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.model.annotations import annotation_warnings
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_pod, build_service
from training_local.apiserver import metadata
from training_local.apiserver.crd import NOT_TRIED, CustomRules, crd_types
from training_local.apiserver.custom.cel import CompileError
from training_local.apiserver.custom.structural import Structural
from training_local.apiserver.errors import ApiError, Cause, Json
from training_local.apiserver.resource_types import Context, ResourceType
from training_local.apiserver.types import BUILTIN
from training_local.run.known_kinds import OTHERS, meant, nearest

_UNKNOWN: Final = re.compile(r'unknown field "(?P<path>.*)"')
_STEP: Final = re.compile(r"[^.\[\]]+|\[\d+\]")
_MOST_FIELDS: Final = 10
"""How many fields to list where none is like the unknown one."""
_NOW: Final = "2000-01-01T00:00:00Z"
"""The moment of creation, which no rule asks for."""


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """The API server rejects the object, or no pod of it can ever be created."""
    WARNING = "warning"
    """It is taken, and may not do what its author expects."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to be said about an object."""

    severity: Severity
    source: str
    line: int
    """Where the object begins."""
    object: str
    """Kind and name; empty where there is no object."""
    message: str
    """The field, and what is wrong or would be right."""

    def as_json(self) -> Json:
        """What programs read."""
        return asdict(self)

    def __str__(self) -> str:
        where = place(Document(self.source, self.line, None))
        return ": ".join(filter(None, (where, self.severity, self.object, self.message)))


def check(documents: Iterable[Document], max_replicas: int = MAX_REPLICAS) -> Iterator[Finding]:
    """Check each object alone, then whether one is there twice."""
    seen: dict[tuple[str, ...], str] = {}
    for document in documents:
        item = document.object
        if item is None:
            yield Finding(Severity.ERROR, document.source, document.line, "", document.error)
            continue
        name = title(item)
        for severity, message in check_object(item, max_replicas):
            yield Finding(severity, document.source, document.line, name, message)
        meta = item.get("metadata")
        if isinstance(meta, dict) and meta.get("name"):
            key = tuple(str(each) for each in (item.get("kind"), meta.get("namespace", ""), meta["name"]))
            if key in seen:
                message = f"it already exists: {seen[key]}; the later one would overwrite it"
                yield Finding(Severity.ERROR, document.source, document.line, name, message)
            seen.setdefault(key, place(document))


def title(item: Json) -> str:
    """Kind and name of an object, as far as it has them."""
    meta = item.get("metadata")
    named = meta if isinstance(meta, dict) else {}
    return f"{item.get('kind') or 'object'} {named.get('name') or named.get('generateName') or 'without a name'}"


def check_object(item: Json, max_replicas: int = MAX_REPLICAS) -> Iterator[tuple[Severity, str]]:
    """What is to be said about one object, unknown fields first: they explain what is missing."""
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str):
            yield Severity.ERROR, f"{field}: Required value: every object needs apiVersion and kind"
            return
    kind = item["kind"]
    try:
        served = _type(item["apiVersion"], kind, max_replicas)
    except CompileError as error:  # a kind of another package
        yield Severity.ERROR, f"{kind}: its CRD has a rule that API servers reject: {' '.join(str(error).split())}"
        return
    if served is None:
        unknown = meant(item["apiVersion"], kind)
        problem = kind not in OTHERS and bool(unknown)
        said = unknown or "this kind is unknown"
        yield Severity.ERROR if problem else Severity.WARNING, f"{item['apiVersion']} {kind}: {said}"
        return
    errors = list(_validation_errors(served, deepcopy(item)))
    yield from ((Severity.ERROR, error) for error in errors)
    if item["apiVersion"] == API_VERSION and not errors:
        yield from _job_findings(kinds()[kind], item, max_replicas)


def _validation_errors(served: ResourceType, item: Json) -> Iterator[str]:
    """What an API server with strict field validation says at the creation of an object, which is taken over."""
    try:
        unknown = metadata.decoded(item, served)
        decoded = served.rules.decode(item)
    except ApiError as error:
        yield error.message
        return
    for text in (*unknown, *decoded.problems):
        yield f"{text}{_suggestion(served, text)}"
    yield from map(str, _causes(served, decoded.obj))


def _causes(served: ResourceType, item: Json) -> Iterator[Cause]:
    meta = item["metadata"]
    yield from metadata.create_causes(item, served)
    meta.setdefault("name", meta.get("generateName", ""))
    try:
        found = served.rules.for_create(item, Context(_NOW, meta.get("namespace", "default"))).causes
    except ApiError:  # what is missing in a cluster can only be said there
        return
    yield from (cause for cause in dict.fromkeys(found) if NOT_TRIED not in cause.message)


def _suggestion(served: ResourceType, text: str) -> str:
    """What may have been meant by an unknown field: one that is nearly spelled so, or those that there are."""
    found, rules = _UNKNOWN.fullmatch(text), served.rules
    if found is None or not isinstance(rules, CustomRules):
        return ""
    level: Structural | None = rules.structural
    *steps, last = _STEP.findall(found["path"])
    for step in steps:
        if level is not None:
            level = level.items if step.startswith("[") else level.properties.get(step, level.additional)
    known = list(level.properties) if level is not None else []
    if name := nearest(last, known):
        return f", did you mean {name}?"
    return f", known here: {', '.join(known)}" if 0 < len(known) <= _MOST_FIELDS else ""


def _job_findings(info: KindInfo, item: Json, max_replicas: int) -> Iterator[tuple[Severity, str]]:
    """What the operator would say of a job that the API server takes."""
    meta = item["metadata"]
    named = {**item, "metadata": {**meta, "name": meta.get("name") or f"{meta['generateName']}00000", "uid": "unknown"}}
    try:
        job = decode_job(info, named)
    except DecodeError as error:
        yield Severity.ERROR, str(error)
        return
    framework = frameworks(FrameworkOptions(max_replicas=max_replicas))[info.kind]
    yield from ((Severity.ERROR, text) for text in _pod_problems(with_defaults(job), framework))
    yield from ((Severity.WARNING, text) for text in _surprises(job, framework))


def _pod_problems(job: Job, framework: Framework) -> Iterator[str]:
    """Why no pod of a replica type can be made: pods are checked as the operator would create them."""
    for replica_type in job.replicas:
        if job.count(replica_type) == 0:
            continue
        slot, path = Slot(replica_type, 0), f"{job.info.replica_path(replica_type)}.template"
        try:
            made = [build_pod(job, framework, NewPod(slot))]
            if job.info.services:
                made.append(build_service(job, framework, slot))
        except CannotBuild as error:
            yield f"{path}: {error}"
            continue
        for built in made:
            served = _type("v1", built["kind"], MAX_REPLICAS)
            assert served is not None
            # Builders share what templates have in common.
            for problem in _validation_errors(served, json.loads(json.dumps(built))):
                yield f"{path}.{problem}" if built["kind"] == "Pod" else f"{path}: its service: {problem}"


def _surprises(job: Job, framework: Framework) -> Iterator[str]:
    """What is taken and means something else than it seems to, and what defaults decide."""
    for event in annotation_warnings(job, framework.annotations):
        yield event.message
    for given, replica in job.replicas.items():
        path, known = job.info.replica_path(given), job.info.canonical_type(given)
        if known != given:
            yield f"{path}: it is read as {known}"
        if replica.replicas is None:
            yield f"{path}.replicas: not set; the default is {job.info.default_count(given)}"
        if (replica.template.get("spec") or {}).get("restartPolicy"):
            policy = replica.restart_policy or job.info.restart_policy
            yield f"{path}.template.spec.restartPolicy: it has no effect; {path}.restartPolicy applies, {policy} here"


def _type(api_version: str, kind: str, max_replicas: int) -> ResourceType | None:
    if api_version == API_VERSION:
        return _job_type(kind, max_replicas) if kind in kinds() else None
    return _builtin().get((api_version, kind))


@cache
def _job_type(kind: str, max_replicas: int) -> ResourceType:
    [served] = crd_types(build(kinds()[kind], max_replicas))
    return served


@cache
def _builtin() -> dict[tuple[str, str], Any]:
    return {(each.api_version, each.kind): each for each in BUILTIN}
