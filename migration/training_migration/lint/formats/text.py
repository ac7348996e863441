"""Two lines for each finding, and a sum."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from training_migration.findings import Finding, Severity


def place(finding: Finding) -> str:
    """File and line, as editors open them."""
    return f"{finding.source}:{finding.line}" if finding.line else finding.source


def remedy(finding: Finding) -> str:
    """The first sentence of what to do: more is on the page of the rule."""
    return re.split(r"(?<=[.])\s", finding.rule.remedy, maxsplit=1)[0]


def as_text(findings: Sequence[Finding]) -> str:
    """For people: place, severity, rule, what is there, and what to do; the sum at the end."""
    lines = []
    for each in findings:
        field = f" [{each.path}]" if each.path else ""
        mended = " (`convert` mends it)" if each.rule.converted else ""
        lines.append(f"{place(each)}: {each.level.value} {each.rule.id}: {each.message}{field}")
        lines.append(f"    {remedy(each)}{mended}")
    return "\n".join([*lines, summary(findings)])


def summary(findings: Sequence[Finding]) -> str:
    """How many of each severity."""
    counted = Counter(each.level for each in findings)
    parts = [f"{counted[level]} {level.value}{'s' if counted[level] != 1 else ''}" for level in Severity]
    return ", ".join(parts)
