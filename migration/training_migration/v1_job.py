"""A job of v1 as v1 would run it: what has been typed, checked and with its defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.decode import DecodeError, decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_api.problems import Problem, ProblemKind
from training_api.validation import problems_of
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.plugins import Plugins, ignored, kinds, plugins
from training_controllers.frameworks.registry import frameworks
from training_migration.shape import misfit

Json = dict[str, Any]

MOST_REPLICAS: Final = 150_000
"""Of one type: Kubernetes is made for no more pods in a whole cluster."""


_PLACEHOLDER: Final = re.compile(r"\$\{\w+\}")
_TO_BE_FILLED_IN: Final = " (placeholders have to be filled in first, by envsubst for example)"


@dataclass(frozen=True, slots=True)
class V1Job:
    """A job that v1 would accept, of the six kinds or one of another package."""

    job: Job
    framework: Framework
    object: Json
    """As it was given."""
    source: str = ""
    line: int = 0


class Invalid(ValueError):
    """An object that v1 would reject; the text is one sentence for each reason."""

    def __init__(self, problems: list[Problem]) -> None:
        text = "; ".join(map(str, problems))
        super().__init__(text + _TO_BE_FILLED_IN * (_PLACEHOLDER.search(text) is not None))
        self.problems = problems


def is_v1_job(obj: Json) -> bool:
    """Whether this is a job of v1's API for which there is a conversion."""
    return obj.get("apiVersion") == API_VERSION and _has_strategy(str(obj.get("kind")))


def not_converted(obj: Mapping[str, Any]) -> str:
    """Why a job of v1's API is left as it is: there is no conversion for its kind. Empty for all other objects."""
    kind = str(obj.get("kind"))
    is_job = obj.get("apiVersion") == API_VERSION and (kind.endswith("Job") or kind in kinds())
    if not is_job or _has_strategy(kind):
        return ""
    return f"not converted: no strategy for {kind}{'' if kind in kinds() else ignored()}."


def _has_strategy(kind: str) -> bool:
    framework = _frameworks().get(kind)
    return framework is not None and framework.migration != ""


def _frameworks() -> Mapping[str, Framework]:
    """Of all kinds, declared once and not for every object."""
    return _declared(plugins())


@cache
def _declared(_found: Plugins) -> Mapping[str, Framework]:
    return frameworks()


def v1_job(obj: Json, source: str = "", line: int = 0) -> V1Job:
    """Read a job as v1's operator does; raises Invalid for one that its webhook would not let in."""
    info = kinds()[obj["kind"]]
    obj = _named(_with_texts_for_fractions(obj))
    try:
        job = with_defaults(decode_job(info, obj))
    except DecodeError as error:
        raise Invalid([error.problem]) from error
    if problems := [*problems_of(job), *_too_many(job)]:
        raise Invalid(problems)
    if problem := misfit(obj):
        raise Invalid([problem])
    return V1Job(job, _frameworks()[info.kind], obj, source, line)


def prefix_of(obj: Json) -> str:
    """What an API server makes a name from where none is given, as a name; empty where it makes none."""
    metadata = obj.get("metadata")
    begin = metadata.get("generateName") if isinstance(metadata, dict) and not metadata.get("name") else None
    return begin.rstrip("-.") if isinstance(begin, str) else ""


def _named(obj: Json) -> Json:
    """The same with a name in place of what an API server makes one from."""
    name = prefix_of(obj)
    return {**obj, "metadata": {**obj["metadata"], "name": name}} if name else obj


def _with_texts_for_fractions(value: Any, *, quantities: bool = False) -> Any:
    """The same with `cpu: 0.5` as text.

    API servers reject the number under both sides' CRDs, though manifests in the wild have it, and clients in Go write
    it as text.
    """
    if isinstance(value, dict):
        return {
            key: _with_texts_for_fractions(each, quantities=quantities or key in ("requests", "limits"))
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_with_texts_for_fractions(each) for each in value]
    return str(value) if quantities and isinstance(value, float) else value


def _too_many(job: Job) -> Iterator[Problem]:
    """Numbers that no API server can hold, and that cannot be gone through one by one."""
    for name, replica in job.replicas.items():
        if (replica.replicas or 0) > MOST_REPLICAS:
            path = f"{job.info.replica_path(name)}.replicas"
            yield Problem(path, ProblemKind.INVALID, f"must be at most {MOST_REPLICAS}", replica.replicas)
