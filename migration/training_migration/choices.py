"""What users choose among, and what is chosen for them: data, so that the help of a verb needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

PROBE_SECONDS: Final = 60.0
"""How long pods wait for each other."""
SLOWER: Final = 1.5
"""Factor between the durations of two runs from which on there is a remark."""
LINT_FORMATS: Final[Mapping[str, str]] = {
    "text": "training_migration.lint.formats.text:as_text",
    "json": "training_migration.lint.formats.json_text:as_json",
    "sarif": "training_migration.lint.formats.sarif:as_sarif",
    "junit": "training_migration.lint.formats.junit:as_junit",
}
"""What `lint --format` takes, and what writes it; the first is the default."""
REPORT_FORMATS: Final[Mapping[str, str]] = {
    each: f"training_migration.report.merged:as_{each}" for each in ("markdown", "html", "junit")
}
"""The same of `report --format`."""


class CompatEnv(StrEnum):
    """When v1's variables are written out."""

    AUTO = "auto"
    """Unless the command is known to set its own."""
    ALWAYS = "always"
    NEVER = "never"


class Ttl(StrEnum):
    """What becomes of `ttlSecondsAfterFinished`."""

    DROP = "drop"
    KEEP = "keep"


class Asymmetric(StrEnum):
    """What becomes of a master whose template is not that of the workers."""

    MERGE_MAX = "merge-max"
    """The larger of both, where only resources, volumes or variables differ."""
    SPLIT = "split"
    """Two replicated jobs with literal variables."""
    REJECT = "reject"


class NoteStyle(StrEnum):
    """Where the findings of a conversion are written."""

    INLINE = "inline"
    """Comments at the head of the YAML."""
    FILE = "file"
    """A text file next to the YAML."""
    NONE = "none"
