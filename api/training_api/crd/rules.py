"""The CEL rules of a kind by where they stand in the schema. `training_api.validation` has the same in Python.

Rules about invalid values forbid them, because of an invalid value the API server shows the type, `"integer"` say.
Where a rule of the spec blames an entry of the replica map, the path shows the canonical spelling of the replica type,
because the API server takes only fixed paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from training_api import validation as say
from training_api.cel import has_type, is_type, text
from training_api.kinds import KindInfo
from training_api.problems import ProblemKind

Rule = dict[str, Any]

REASONS = {
    ProblemKind.REQUIRED: "FieldValueRequired",
    ProblemKind.FORBIDDEN: "FieldValueForbidden",
    ProblemKind.INVALID: "FieldValueInvalid",
}


def rule(problem: ProblemKind, path: str, message: str, cel: str, *, expression: bool = False) -> Rule:
    """One validation of a CRD; `message` is a text, or with `expression` a CEL expression for one."""
    made = {"rule": cel, "reason": REASONS[problem], ("messageExpression" if expression else "message"): message}
    return made | {"fieldPath": path} if path else made


def job_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about the whole job: its name.

    The API server spares unchanged parts of objects that were stored before there were rules, but the whole job changes
    with every label and every status. So these rules themselves spare what was there before; otherwise such a job
    could not even lose its finalizers.
    """
    if not info.services:
        return
    path, replicas = ".metadata.name", f"self.spec.{info.replica_field}"
    right = f"oldSelf.hasValue() || self.metadata.name.matches({text(say.NAME_PATTERN)})"
    yield rule(ProblemKind.FORBIDDEN, path, say.NAME_DETAIL, right) | {"optionalOldSelf": True}
    # Lengths are added up, and the message has no numbers: the API server holds joined texts for too expensive.
    count = f"(has({replicas}[t].replicas) ? {replicas}[t].replicas : 1)"
    length = f"size(self.metadata.name) + size(t) + size(string({count} - 1)) + 2"
    too_long = f"{count} > 0 && {length} > {say.NAME_LIMIT}"
    old = f"oldSelf.value().spec.{info.replica_field}"
    grown = f"!(oldSelf.hasValue() && t in {old} && {count} <= (has({old}[t].replicas) ? {old}[t].replicas : 1))"
    first = f"{replicas}.filter(t, {too_long})[0]"
    message = f"{text(say.REPLICA_NAME_BEGIN)} + {first} + {text(say.REPLICA_NAME_END)}"
    fits = f"!{replicas}.exists(t, {too_long} && {grown})"
    yield rule(ProblemKind.FORBIDDEN, path, message, fits, expression=True) | {"optionalOldSelf": True}


def spec_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about which replica types there are, how many replicas they have, and about the kind's own settings."""
    replicas, path = f"self.{info.replica_field}", f".{info.replica_field}"
    if not info.other_types:
        known = is_type("t", info.replica_types)
        first = f"{replicas}.filter(t, !{known})[0]"
        message = f"""'unsupported replica type "' + {first} + '": {say.supported(info.replica_types)}'"""
        yield rule(ProblemKind.FORBIDDEN, path, message, f"{replicas}.all(t, {known})", expression=True)
    for name in info.replica_types:
        once = f"size({replicas}.filter(t, {is_type('t', [name])})) <= 1"
        yield rule(ProblemKind.FORBIDDEN, f"{path}.{name}", say.TYPE_TWICE, once)
    for name in info.required_types:
        yield rule(ProblemKind.REQUIRED, f"{path}.{name}", say.TYPE_MISSING, has_type(replicas, name))
    for name in info.single_types:
        yield _count_rule(info, name, "== 1", say.NOT_ONE)
    for name in info.populated_types:
        yield _count_rule(info, name, ">= 1", say.NOT_POPULATED)
    for own in info.rules:
        yield rule(own.problem, "." + own.path.replace("[", ".").replace("]", ""), own.detail, own.cel)


def _count_rule(info: KindInfo, replica_type: str, comparison: str, message: str) -> Rule:
    field = info.replica_field
    count = f"self.{field}[t].replicas"
    holds = f"self.{field}.all(t, !{is_type('t', [replica_type])} || !has({count}) || {count} {comparison})"
    return rule(ProblemKind.FORBIDDEN, f".{field}.{replica_type}.replicas", message, holds)


def replica_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about one entry of the replica map."""
    given = "has(self.template) && has(self.template.spec) && has(self.template.spec.containers)"
    containers, path = "self.template.spec.containers", ".template.spec.containers"
    yield rule(ProblemKind.REQUIRED, path, say.CONTAINERS_MISSING, f"{given} && size({containers}) > 0")
    if info.services:
        named = f"{containers}.exists(c, c.name == {text(info.container)})"
        yield rule(ProblemKind.REQUIRED, path, say.container_missing(info), f"{given} && {named}")


def count_rules() -> Iterator[Rule]:
    """Rules about one number of replicas."""
    yield rule(ProblemKind.FORBIDDEN, "", say.NEGATIVE, "self >= 0")


def container_rules() -> Iterator[Rule]:
    """Rules about one container."""
    yield rule(ProblemKind.REQUIRED, ".image", say.IMAGE_MISSING, "has(self.image) && self.image != ''")
    yield rule(ProblemKind.REQUIRED, ".name", say.CONTAINER_NAME_MISSING, "self.name != ''")


def run_policy_rules() -> Iterator[Rule]:
    """Rules about changes of the run policy: `managedBy` is immutable, set or not (K-19)."""
    same = (
        "has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)"
    )
    yield rule(ProblemKind.FORBIDDEN, ".managedBy", "field is immutable", same)


def queue_rules() -> Iterator[Rule]:
    """Rules about changes of the gang scheduler's queue, which may still be named later or left out."""
    yield rule(ProblemKind.INVALID, "", "spec.runPolicy.schedulingPolicy.queue is immutable", "self == oldSelf")
