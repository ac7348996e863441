"""SARIF 2.1.0, which code hosts show next to the lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from training_migration.findings import Finding, Rule, Severity
from training_migration.lint.formats.text import left_open

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(findings: Sequence[Finding]) -> str:
    """One run with the rules that have findings which a conversion has not fixed."""
    findings = left_open(findings)
    rules = sorted({each.rule.id: each.rule for each in findings}.values(), key=lambda rule: rule.id)
    positions = {rule.id: at for at, rule in enumerate(rules)}
    driver = {"name": "training-operator migrate lint", "rules": [_rule(rule) for rule in rules]}
    results = [_result(each, positions) for each in findings]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "utf16CodeUnits"}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.finds},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, positions: dict[str, int]) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(finding.source).as_posix())}}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": positions[finding.rule.id],
        "level": _LEVELS[finding.level],
        "message": {"text": finding.message},
        "locations": [location],
    }
