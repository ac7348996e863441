"""Objects that are neither jobs nor runtimes, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from training_api.constants import API_VERSION, GROUP, LABEL_PREFIX
from training_api.documents import Document
from training_api.registry import KINDS
from training_migration.embedded.find import jobs_in
from training_migration.findings import Finding
from training_migration.lint.checks import Checks, Spot
from training_migration.v1_job import not_converted

Json = Mapping[str, Any]
OBJECTS: Final[Checks[Json]] = Checks()
"""The checks on other objects."""

_SELECTING: Final = frozenset(
    {"NetworkPolicy", "PodMonitor", "ServiceMonitor", "PodDisruptionBudget", "Service", "VerticalPodAutoscaler"}
)
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_MAKING: Final = frozenset({"create", "*"})


@OBJECTS.rule("MIG001")
def other_kind(obj: Json) -> Iterator[Spot]:
    """A kind of the group that is not one of the six."""
    group, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    if group.startswith(f"{GROUP}/") and kind in KINDS and group != API_VERSION:
        yield Spot(f"{kind} of {group} belongs to another controller.", "apiVersion")
    elif why := not_converted(obj):
        yield Spot(why, "kind")


@OBJECTS.rule("MIG007")
def role_of_v1_only(obj: Json) -> Iterator[Spot]:
    """A role that allows to make jobs of v1 and not TrainJobs."""
    if obj.get("kind") not in _ROLES:
        return
    rules = obj.get("rules") or ()
    allowed = [rule for rule in rules if _MAKING & set(rule.get("verbs") or ())]
    old = any(GROUP in (rule.get("apiGroups") or ()) for rule in allowed)
    new = any({f"trainer.{GROUP}", "*"} & set(rule.get("apiGroups") or ()) for rule in allowed)
    if old and not new:
        yield Spot("it may create jobs of v1, but no TrainJobs.", "rules")


@OBJECTS.rule("MIG203")
def autoscaler(obj: Json) -> Iterator[Spot]:
    """An autoscaler of a job of v1."""
    if obj.get("kind") != "HorizontalPodAutoscaler":
        return
    target = (obj.get("spec") or {}).get("scaleTargetRef") or {}
    if target.get("apiVersion") == API_VERSION:
        yield Spot(f"it changes the number of workers of a {target.get('kind')}.", "spec.scaleTargetRef")


@OBJECTS.rule("MIG402")
def selects_pods(obj: Json) -> Iterator[Spot]:
    """A selector of v1's labels."""
    if obj.get("kind") in _SELECTING:
        for path, text in _keys(obj.get("spec") or {}, "spec"):
            if text.startswith(LABEL_PREFIX):
                yield Spot(f"{text} selects pods of v1 and none of v2.", path)


def _keys(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Where keys of labels stand: as keys, and as `key` of expressions."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield path, str(key)
            if key == "key":
                yield path, str(each)
            yield from _keys(each, f"{path}.{key}")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _keys(each, f"{path}[{at}]")


@OBJECTS.rule("MIG406")
def holds_jobs(obj: Json) -> Iterator[Spot]:
    """Jobs of v1 inside of other objects, as objects or as text."""
    for each in jobs_in(obj):
        yield Spot(f"it holds a {each.kind} of v1.", each.path)


def lint_object(document: Document) -> list[Finding]:
    """What is found in an object that is neither a job of v1 nor a runtime or TrainJob."""
    return OBJECTS(document.object or {}, source=document.source, line=document.line)
