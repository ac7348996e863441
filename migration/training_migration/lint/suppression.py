"""Findings that are suppressed: comments, annotations, and a file for a whole fleet."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from training_api.constants import EXTENSION_PREFIX
from training_api.yaml_text import json_value
from training_migration.findings import Finding

IGNORE_ANNOTATION: Final = EXTENSION_PREFIX + "migration-ignore"
"""On jobs, runtimes and TrainJobs: ids of rules, separated by commas."""
SCHEMA: Final = "migrate.baseline/1"
_COMMENT: Final = re.compile(r"(?:#|//)\s*migrate:\s*ignore\s*=\s*([\w ,]+)")
_ONLY_A_COMMENT: Final = re.compile(r"^[\s\"']*(?:#|//)")


class UnknownBaseline(ValueError):
    """A file that is no baseline; the text is one sentence."""


def _ids(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"MIG\d{3}", text))


def ignored_by_annotation(obj: Mapping[str, Any]) -> frozenset[str]:
    """Ids of rules that an object asks to leave out."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return _ids(str(annotations.get(IGNORE_ANNOTATION) or ""))


def ignored_in_lines(lines: Sequence[str], field: range) -> frozenset[str]:
    """Ids that comments in these lines name, or one that has the line above for itself."""
    found: set[str] = set()
    for line in lines[max(field.start - 1, 0) : field.stop - 1] if field.start > 0 else ():
        if comment := _COMMENT.search(line):
            found |= _ids(comment[1])
    above = lines[field.start - 2] if 1 < field.start <= len(lines) + 1 else ""
    if _ONLY_A_COMMENT.match(above) and (comment := _COMMENT.search(above)):
        found |= _ids(comment[1])
    return frozenset(found)


def _key(finding: Finding) -> tuple[str, str, str, str]:
    """What a finding is known by: not its line, which moves."""
    return finding.rule.id, finding.source, finding.path, finding.message


def baseline(findings: Iterable[Finding]) -> str:
    """The findings as a file that leaves them out from now on."""
    counted = sorted(Counter(map(_key, findings)).items())
    entries = [
        {"rule": rule, "source": source, "path": path, "message": message, "count": count}
        for (rule, source, path, message), count in counted
    ]
    return json.dumps({"schema": SCHEMA, "findings": entries}, indent=1, ensure_ascii=False) + "\n"


def read_baseline(text: str) -> Mapping[tuple[str, str, str, str], int]:
    """How often each finding is left out; raises UnknownBaseline."""
    try:
        content = json_value(text)
        if content["schema"] != SCHEMA:
            raise UnknownBaseline(f"is not of {SCHEMA}, but of {content['schema']}")
        return {
            (each["rule"], each["source"], each["path"], each["message"]): int(each["count"])
            for each in content["findings"]
        }
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, UnknownBaseline):
            raise
        raise UnknownBaseline("is no baseline: --write-baseline makes one") from None


def without(findings: Iterable[Finding], known: Mapping[tuple[str, str, str, str], int]) -> list[Finding]:
    """The findings that a baseline does not have."""
    left = Counter(known)
    kept = []
    for finding in findings:
        if left[_key(finding)] > 0:
            left[_key(finding)] -= 1
        else:
            kept.append(finding)
    return kept
