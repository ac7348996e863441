"""One JSON object with all findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from training_migration.findings import Finding, Severity
from training_migration.lint.formats.text import left_open

SCHEMA: Final = "migrate.lint/1"


def as_json(findings: Sequence[Finding]) -> str:
    """For programs; fields are only ever added."""
    counted = Counter(each.level for each in left_open(findings))
    content = {
        "schema": SCHEMA,
        "findings": [_entry(each) for each in findings],
        "summary": {level.value: counted[level] for level in Severity},
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _entry(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.rule.id,
        "severity": finding.level.value,
        "source": finding.source,
        "line": finding.line,
        "path": finding.path,
        "message": finding.message,
        "remedy": finding.rule.remedy,
        "reference": finding.rule.reference,
        "converted": finding.rule.converted,
        "fixed": finding.fixed,
    }
