"""The checks on scripts; modules next to this one fill it."""

from __future__ import annotations

from typing import Final

from training_migration.lint.checks import Checks
from training_migration.lint.scripts.script import Script

SCRIPTS: Final[Checks[Script]] = Checks()
