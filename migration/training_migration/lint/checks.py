"""How rules are applied: one small function for each rule and each kind of input, registered under the rule's id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from training_migration.findings import Finding, Severity
from training_migration.rules import found

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where a rule applies."""

    message: str
    """One sentence: what is there, and what comes of it."""
    path: str = ""
    """Field of the object."""
    line: int = 0
    """In the text, from 1."""
    severity: Severity | None = None
    """Where it is not the rule's."""


Check = Callable[[Subject], Iterable[Spot]]


class Checks(Generic[Subject]):
    """The checks on one kind of input."""

    def __init__(self) -> None:
        self._checks: list[tuple[str, Check[Subject]]] = []

    def rule(self, rule: str) -> Callable[[Check[Subject]], Check[Subject]]:
        """Register a function as the check of the rule with this id."""

        def register(check: Check[Subject]) -> Check[Subject]:
            self._checks.append((rule, check))
            return check

        return register

    @property
    def rules(self) -> frozenset[str]:
        """Ids of the rules that can apply to this kind of input."""
        return frozenset(rule for rule, _ in self._checks)

    def __call__(self, subject: Subject, *, source: str = "", line: int = 0) -> list[Finding]:
        """What all checks find, in the order of rules; `line` is where the object begins."""
        return [
            found(rule, spot.message, spot.path, source=source, line=spot.line or line, severity=spot.severity)
            for rule, check in sorted(self._checks, key=lambda each: each[0])
            for spot in check(subject)
        ]
