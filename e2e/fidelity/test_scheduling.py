"""The recording of the real scheduler is current."""

from __future__ import annotations

from e2e.fidelity.scheduling import record, text_of
from e2e.support import marks
from e2e.support.scheduling import RECORDING

pytestmark = marks.bare  # it builds the scheduler


async def test_recording_is_current() -> None:
    assert RECORDING.read_text() == text_of(await record()), "run `python -m e2e.fidelity.scheduling`"
