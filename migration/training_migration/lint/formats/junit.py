"""JUnit's XML, which CI systems show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from training_migration.findings import Finding, Severity
from training_migration.lint.formats.text import left_open, place, remedy


def as_junit(findings: Sequence[Finding]) -> str:
    """A suite for each file, a failed test for each finding; what is only worth knowing does not fail.

    What a conversion has fixed is left out.
    """
    ordered = sorted(left_open(findings), key=lambda each: each.source)
    suites = [_suite(source, list(of_one)) for source, of_one in groupby(ordered, lambda each: each.source)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"])


def _suite(source: str, findings: Sequence[Finding]) -> str:
    failed = sum(each.level is not Severity.INFO for each in findings)
    head = f'<testsuite name={_attribute(source)} tests="{len(findings)}" failures="{failed}">'
    return "\n".join([head, *map(_case, findings), "</testsuite>"])


def _case(finding: Finding) -> str:
    name = f"<testcase classname={_attribute(finding.rule.id)} name={_attribute(place(finding))}>"
    text = _clean(f"{finding.message} {finding.path}\n{remedy(finding)}")
    if finding.level is Severity.INFO:
        return f"{name}<system-out>{escape(text)}</system-out></testcase>"
    what = f"<failure type={_attribute(finding.level.value)} message={_attribute(finding.message)}>"
    return f"{name}{what}{escape(text)}</failure></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return "".join(each for each in text if each in "\n\t" or ord(each) >= 32)
