"""What is verified, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from training_migration.exits import Exit
from training_migration.verify.differences import Difference

Json = dict[str, Any]


class VerificationOutcome(StrEnum):
    """How a prediction stands next to a cluster, from the best to the worst."""

    EQUAL = "equal"
    """Every object is as predicted."""
    REJECTED = "rejected"
    """The cluster does not take it, and that was predicted or cannot be known without the cluster."""
    DIFFERENT = "different"
    """An object, or whether there are any, is not as predicted."""
    NOT_CONVERTED = "not-converted"
    """A v1 job without a counterpart; nothing was created."""
    INCONCLUSIVE = "inconclusive"
    """Out of time, or nothing is predicted that could be compared."""
    UNAVAILABLE = "unavailable"
    """The cluster cannot be asked: no permission, a name that is taken."""


EXITS: Final[Mapping[VerificationOutcome, Exit]] = {
    VerificationOutcome.EQUAL: Exit.DONE,
    VerificationOutcome.REJECTED: Exit.REJECTED,
    VerificationOutcome.DIFFERENT: Exit.FOUND,
    VerificationOutcome.NOT_CONVERTED: Exit.REJECTED,
    VerificationOutcome.INCONCLUSIVE: Exit.INCONCLUSIVE,
    VerificationOutcome.UNAVAILABLE: Exit.ENVIRONMENT,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A TrainJob that is verified."""

    source: str
    line: int
    kind: str
    """Of what was given: one of v1's, or TrainJob."""
    train_job: Json
    runtime: Json | None
    """None: one that the cluster has."""
    rejected: str = ""
    """Why it could not be converted; empty: it could."""

    @property
    def name(self) -> str:
        """Of the TrainJob, or of the v1 job that cannot be one."""
        name: str = self.train_job["metadata"]["name"]
        return name


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of one TrainJob."""

    subject: Subject
    outcome: VerificationOutcome
    message: str = ""
    """One sentence where there is more to say than the outcome."""
    differences: tuple[Difference, ...] = ()
    objects: int = 0
    """How many were compared."""

    @property
    def code(self) -> Exit:
        """How the verb ends for this one alone."""
        return EXITS[self.outcome]
