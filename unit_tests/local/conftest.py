"""The command `training-operator local` in this process, which does not load everything again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from training_local.cli import local as group

Local = Callable[..., tuple[object, str, str]]


@pytest.fixture
def local(capfd: pytest.CaptureFixture[str]) -> Local:
    """Run a command; returns its exit status and what it prints."""

    def run(*arguments: str) -> tuple[object, str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            group.main(arguments, "training-operator local")
        return ended.value.code or 0, *capfd.readouterr()

    return run
