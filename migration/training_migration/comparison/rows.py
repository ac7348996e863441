"""One aspect of two runs, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """What one aspect says about the whole."""

    EQUAL = "equal"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"
    """Evidence is missing."""
    NOTE = "note"
    """Worth knowing; says nothing about whether the training was the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """One aspect of two runs."""

    aspect: str
    v1: str
    v2: str
    answer: Answer
    reason: str = ""
    """Part of a sentence, where there is more to say than that both are equal."""
