"""Findings as texts: for people, for programs, for code review, for CI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from training_migration.findings import Finding
from training_migration.lint.formats.json_text import as_json
from training_migration.lint.formats.junit import as_junit
from training_migration.lint.formats.sarif import as_sarif
from training_migration.lint.formats.text import as_text

FORMATS: Final[Mapping[str, Callable[[Sequence[Finding]], str]]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "junit": as_junit,
}
"""By the name that `--format` takes; the first is the default."""
