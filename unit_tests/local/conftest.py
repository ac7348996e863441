"""The command `training-operator local` in this process, which does not load everything again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from training_local.cli import local as group
from training_local.cluster.registry import STATE_VARIABLE
from training_local.node.sandbox import pool

Local = Callable[..., tuple[object, str, str]]

# No cluster of a test has a second job some time after its first: it would only end the supervisor that awaits it.
pool._PAUSE_SECONDS = 60.0


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where clusters are registered and runs are kept."""
    folder = tmp_path / "state"
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def local(capfd: pytest.CaptureFixture[str]) -> Local:
    """Run a command; returns its exit status and what it prints."""

    def run(*arguments: str) -> tuple[object, str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            group.main(arguments, "training-operator local")
        return ended.value.code or 0, *capfd.readouterr()

    return run
