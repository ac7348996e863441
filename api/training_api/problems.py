"""How a refusal is worded: the field, the class of the problem, and what would be right (frameworks.md 2.3)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """The classes of problems that the Kubernetes API distinguishes, with their wording."""

    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason to refuse an object."""

    path: str
    """For example `spec.pytorchReplicaSpecs[Worker].replicas`."""
    kind: ProblemKind
    detail: str
    value: str | int | None = None
    """The value in question; only said of invalid and unsupported values."""

    def __str__(self) -> str:
        if self.kind in (ProblemKind.INVALID, ProblemKind.UNSUPPORTED):
            return f"{self.path}: {self.kind}: {json.dumps(self.value)}: {self.detail}"
        return f"{self.path}: {self.kind}: {self.detail}"
