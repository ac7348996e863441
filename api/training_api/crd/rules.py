"""The CEL rules of a kind by where they stand in the schema. `training_api.validation` says the same in Python.

Where a rule blames a field of an entry of the replica map, the path shows the canonical spelling of the replica type,
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
    ProblemKind.UNSUPPORTED: "FieldValueInvalid",
}


def rule(problem: ProblemKind, path: str, message: str, cel: str, *, expression: bool = False) -> Rule:
    """One validation of a CRD; `message` is a text, or with `expression` a CEL expression for one."""
    made = {"rule": cel, "reason": REASONS[problem], ("messageExpression" if expression else "message"): message}
    return made | {"fieldPath": path} if path else made


def job_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about the whole job: its name."""
    if not info.services:
        return
    path, replicas = ".metadata.name", f"self.spec.{info.replica_field}"
    yield rule(ProblemKind.INVALID, path, say.NAME_DETAIL, f"self.metadata.name.matches({text(say.NAME_PATTERN)})")
    # Lengths are added up, and the message has no numbers: the API server takes joined texts for too expensive.
    count = f"(has({replicas}[t].replicas) ? {replicas}[t].replicas : 1)"
    length = f"size(self.metadata.name) + size(t) + size(string({count} - 1)) + 2"
    too_long = f"{count} > 0 && {length} > {say.NAME_LIMIT}"
    first = f"{replicas}.filter(t, {too_long})[0]"
    message = f"{text(say.REPLICA_NAME_BEGIN)} + {first} + {text(say.REPLICA_NAME_END)}"
    yield rule(ProblemKind.INVALID, path, message, f"!{replicas}.exists(t, {too_long})", expression=True)


def spec_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules of the kind's own settings."""
    for own in info.rules:
        yield rule(own.problem, "." + own.path.replace("[", ".").replace("]", ""), own.detail, own.cel)


def replica_map_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about which replica types there are, and how many replicas of them."""
    if not info.other_types:
        known = is_type("t", info.replica_types)
        yield rule(
            ProblemKind.UNSUPPORTED,
            "",
            f"'Unsupported value: \"' + self.filter(t, !{known})[0] + '\": ' + "
            + text(say.supported(info.replica_types)),
            f"self.all(t, {known})",
            expression=True,
        )
    for name in info.replica_types:
        yield rule(
            ProblemKind.FORBIDDEN, f".{name}", say.TYPE_TWICE, f"size(self.filter(t, {is_type('t', [name])})) <= 1"
        )
    for name in info.required_types:
        yield rule(ProblemKind.REQUIRED, f".{name}", say.TYPE_MISSING, has_type("self", name))
    for name in info.single_types:
        yield _count_rule(name, "== 1", say.NOT_ONE)
    for name in info.populated_types:
        yield _count_rule(name, ">= 1", say.NOT_POPULATED)


def _count_rule(replica_type: str, comparison: str, message: str) -> Rule:
    cel = f"self.all(t, !{is_type('t', [replica_type])} || !has(self[t].replicas) || self[t].replicas {comparison})"
    return rule(ProblemKind.FORBIDDEN, f".{replica_type}.replicas", message, cel)


def replica_rules(info: KindInfo) -> Iterator[Rule]:
    """Rules about one entry of the replica map."""
    yield rule(ProblemKind.INVALID, ".replicas", say.NEGATIVE, "!has(self.replicas) || self.replicas >= 0")
    given = "has(self.template) && has(self.template.spec) && has(self.template.spec.containers)"
    containers, path = "self.template.spec.containers", ".template.spec.containers"
    yield rule(ProblemKind.REQUIRED, path, say.CONTAINERS_MISSING, f"{given} && size({containers}) > 0")
    if info.services:
        named = f"{containers}.exists(c, c.name == {text(info.container)})"
        yield rule(ProblemKind.REQUIRED, path, say.container_missing(info), f"{given} && {named}")


def container_rules() -> Iterator[Rule]:
    """Rules about one container."""
    yield rule(ProblemKind.REQUIRED, ".image", say.IMAGE_MISSING, "has(self.image) && self.image != ''")
    yield rule(ProblemKind.REQUIRED, ".name", say.CONTAINER_NAME_MISSING, "self.name != ''")


def run_policy_rules() -> Iterator[Rule]:
    """Rules about changes of the run policy: who manages a job stays (K-19), be it said or left open."""
    yield rule(
        ProblemKind.INVALID,
        ".managedBy",
        "field is immutable",
        "has(self.managedBy) == has(oldSelf.managedBy) && "
        "(!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",
    )


def queue_rules() -> Iterator[Rule]:
    """Rules about changes of the gang scheduler's queue, which may still be named later or left out."""
    yield rule(ProblemKind.INVALID, "", "spec.runPolicy.schedulingPolicy.queue is immutable", "self == oldSelf")
