"""How a rejection is worded: the field, the class of the problem, and what would be right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from training_api.printable import legible


class ProblemKind(StrEnum):
    """The classes of problems that the Kubernetes API distinguishes, with their wording."""

    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"


SHOWN = 80
"""Longest piece of a value that a text quotes, in characters."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason to reject an object; its text is that of an error of the Kubernetes API."""

    path: str
    """For example `spec.pytorchReplicaSpecs[Worker].replicas`."""
    kind: ProblemKind
    detail: str
    value: object = None
    """The value in question; quoted if it is invalid or unsupported."""

    def __str__(self) -> str:
        if self.kind not in (ProblemKind.INVALID, ProblemKind.UNSUPPORTED):
            return f"{self.path}: {self.kind}: {self.detail}"
        shown = legible(json.dumps(self.value, default=str), SHOWN + len("..."))
        return f"{self.path}: {self.kind}: {shown}: {self.detail}"
