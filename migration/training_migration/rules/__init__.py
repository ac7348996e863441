"""The catalogue of rules; each module has those of one hundred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_migration.findings import Finding, Rule, Severity
from training_migration.rules import handwritten, launch, lifecycle, surroundings, target, topology

RULES: Final[Mapping[str, Rule]] = {
    rule.id: rule
    for module in (target, launch, topology, lifecycle, surroundings, handwritten)
    for rule in module.RULES
}


def found(
    rule: str,
    message: str,
    path: str = "",
    *,
    source: str = "",
    line: int = 0,
    severity: Severity | None = None,
    fixed: bool = False,
) -> Finding:
    """A finding of the rule with this id; raises KeyError for an unknown one."""
    return Finding(RULES[rule], message, path, source, line, severity, fixed)
