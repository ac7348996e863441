"""What the target has, and names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel

from training_api.constants import MANAGED_BY_MULTIKUEUE
from training_migration.convert.names import of_generated_name
from training_migration.findings import Severity
from training_migration.lint.checks import Spot
from training_migration.lint.names import too_long
from training_migration.lint.v1.subject import V1, Subject
from training_migration.lint.variables import POLICY_OF

_ROLES_OF_THEIR_OWN: Final = frozenset({"TFJob"})
"""Kinds whose replica types stay replicated jobs of their own."""


@V1.rule("MIG002")
def missing_feature(subject: Subject) -> Iterator[Spot]:
    """A policy, a deadline or a manager that the target does not have."""
    target, features = subject.options.target, subject.features
    policy = POLICY_OF.get(subject.kind)
    if policy is not None and policy not in features.policies:
        message = (
            f"Trainer {target} has no policy {policy}; a plain runtime with variables written out takes its place."
        )
        yield Spot(message, severity=Severity.WARNING)
    if subject.policy.active_deadline_seconds is not None and not features.deadline:
        message = f"a TrainJob of {target} has no deadline; it moves to the template of the Job."
        yield Spot(message, "spec.runPolicy.activeDeadlineSeconds", severity=Severity.WARNING)
    if subject.policy.managed_by == MANAGED_BY_MULTIKUEUE and not features.multikueue:
        yield Spot(f"Trainer {target} runs jobs of MultiKueue by itself.", "spec.runPolicy.managedBy")


@V1.rule("MIG003")
def long_name(subject: Subject) -> Iterator[Spot]:
    """A name that leaves no room for what v2 adds."""
    name = subject.options.name or subject.job.metadata.name
    if spots := list(too_long(name, _groups(subject))):
        yield from spots
    elif not name[:1].isalpha():
        yield Spot(f"{name!r} does not begin with a letter, as names of TrainJobs do.", "metadata.name")


@V1.rule("MIG009")
def generated_name(subject: Subject) -> Iterator[Spot]:
    """A name that the API server makes."""
    if message := of_generated_name(subject.given, subject.options.name or subject.job.metadata.name):
        yield Spot(message, "metadata.generateName")


@V1.rule("MIG010")
def unknown_field(subject: Subject) -> Iterator[Spot]:
    """A field that v1's API server drops."""
    spec = subject.given.object["spec"]
    of_policy = _fields(subject.policy)
    for name in sorted(spec.keys() - _fields(subject.spec)):
        yield _dropped(f"spec.{name}", "; v1 has it in spec.runPolicy" if name in of_policy else "")
    for name in sorted((spec.get("runPolicy") or {}).keys() - of_policy):
        yield _dropped(f"spec.runPolicy.{name}", "")


def _dropped(path: str, hint: str) -> Spot:
    return Spot(f"{path} is no field of v1: it has no effect, neither on v1 nor on v2{hint}.", path)


def _fields(model: BaseModel) -> frozenset[str]:
    """The names of its fields, as they are written."""
    return frozenset(field.alias or name for name, field in type(model).model_fields.items())


def _groups(subject: Subject) -> list[tuple[str, int]]:
    """The replicated jobs that come of it, each with its number of pods."""
    if subject.kind == "MPIJob":
        return [("launcher", 1), ("node", sum(role.count for role in subject.roles if role.name == "Worker"))]
    if subject.kind in _ROLES_OF_THEIR_OWN:
        return [(role.name.lower(), role.count) for role in subject.roles]
    return [("node", subject.size)]
