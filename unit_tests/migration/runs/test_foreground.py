from __future__ import annotations

import pytest
import structlog

from training_migration.runs.foreground import finish


async def _reconcile() -> int:
    log = structlog.get_logger()
    log.debug("reconciled")
    log.warning("no node")
    return 3


def test_people_see_warnings_only(capfd: pytest.CaptureFixture[str]) -> None:
    structlog.reset_defaults()  # as a command begins
    assert finish(_reconcile()) == 3
    printed = "".join(capfd.readouterr())
    assert "no node" in printed
    assert "reconciled" not in printed
