"""The recording of the real scheduler is current."""

from __future__ import annotations

import pytest
from e2e.fidelity.scheduling import record, text_of
from e2e.support.scheduling import RECORDING


async def test_recording_is_current(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--provider") != "bare":
        pytest.skip("needs the scheduler of the provider `bare`")
    assert RECORDING.read_text() == text_of(await record()), "run `python -m e2e.fidelity.scheduling`"
