"""The rules applied: to jobs of v1, to runtimes and TrainJobs, to scripts, and to what lies around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_migration.lint.around.files import FILES, lint_file
from training_migration.lint.around.objects import OBJECTS, lint_object
from training_migration.lint.around.together import TOGETHER, lint_together
from training_migration.lint.scripts.lint import lint_script
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.v1.lint import lint_v1
from training_migration.lint.v1.subject import V1
from training_migration.lint.v2.lint import lint_v2
from training_migration.lint.v2.subject import RUNTIMES, TRAIN_JOBS

__all__ = ["lint_file", "lint_object", "lint_script", "lint_together", "lint_v1", "lint_v2"]

LINTED: Final = frozenset().union(
    *(checks.rules for checks in (V1, RUNTIMES, TRAIN_JOBS, SCRIPTS, FILES, OBJECTS, TOGETHER))
)
"""Ids of the rules that apply to files."""

ELSEWHERE: Final[Mapping[str, str]] = {
    "MIG008": "only a conversion that may use a runtime of v2 loses anything by it",
    "MIG006": "which version of Kueue a cluster has, is not in files",
}
"""Ids of the others -> why."""
