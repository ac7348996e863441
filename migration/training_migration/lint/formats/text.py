"""Two lines for each finding, and a sum."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from training_migration.findings import Finding, Severity


def place(finding: Finding) -> str:
    """File and line, as editors open them."""
    return f"{finding.source}:{finding.line}" if finding.line else finding.source


def remedy(finding: Finding) -> str:
    """The first sentence of what to do: more is on the page of the rule."""
    return re.split(r"(?<=[.])\s", finding.rule.remedy, maxsplit=1)[0]


def as_text(findings: Sequence[Finding]) -> str:
    """For users: place, severity, rule, what is there, and what to do; what `convert` has fixed, and the sum."""
    lines = []
    for each in left_open(findings):
        field = f" [{each.path}]" if each.path else ""
        fixed = " (fixed by `convert`)" if each.rule.converted else ""
        lines.append(f"{place(each)}: {each.level.value} {each.rule.id}: {each.message}{field}")
        lines.append(f"    {remedy(each)}{fixed}")
    return "\n".join([*lines, *_fixed(findings), summary(findings)])


def left_open(findings: Sequence[Finding]) -> list[Finding]:
    """Those that a conversion has not fixed."""
    return [each for each in findings if not each.fixed]


def _fixed(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for each file."""
    rules: dict[str, set[str]] = defaultdict(set)
    for each in findings:
        if each.fixed:
            rules[each.source].add(each.rule.id)
    for source, ids in rules.items():
        yield f"{source}: fixed by `convert`: {', '.join(sorted(ids))}"


def summary(findings: Sequence[Finding]) -> str:
    """How many of each severity."""
    counted = Counter(each.level for each in left_open(findings))
    parts = [f"{counted[level]} {level.value}{'s' if counted[level] != 1 else ''}" for level in Severity]
    fixed = len(findings) - counted.total()
    return ", ".join(parts) + (f"; {fixed} more fixed by `convert`" if fixed else "")
