"""What the module of a kind decides, before it is written as objects of v2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training_migration.convert.context import Json


@dataclass(frozen=True, slots=True)
class Group:
    """One replicated job of the runtime: pods of one template."""

    name: str
    template: Json
    """Of its pods."""
    job: Json
    """Fields of its Job next to the template: limits and policies."""
    count: int
    """How many pods."""
    trains: bool = False
    """Whether the TrainJob's `trainer` is about it."""
    after: str = ""
    """The group that has to be ready first."""
    in_one_job: bool = True
    """Whether its pods are those of one Job; else each is a Job of its own."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A job of v2 to be."""

    framework: str
    """Value of the label by which clients know what a runtime is for."""
    groups: Sequence[Group]
    policy: Json | None = None
    """`mlPolicy` of the runtime."""
    trainer: Json | None = None
    """`trainer` of the TrainJob."""
    succeeds_with: Sequence[str] = ()
    """The groups whose success is the job's; empty: all of them."""
    network: Json | None = None
    others: Sequence[Json] = ()
    """What must be there before the TrainJob next to the runtime."""
