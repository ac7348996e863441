"""The group `training-operator migrate`; each verb is a module of `commands`."""

from __future__ import annotations

import cloup


@cloup.group()
def migrate() -> None:
    """Move training jobs from v1 to Trainer v2, and know that the same training happens."""
