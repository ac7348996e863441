"""The faults that are over quickly, in small sizes; all of them: `python -m e2e.endurance.faults`."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.endurance.faults.__main__ import play
from e2e.endurance.faults.faults import FAULTS
from e2e.support import marks

pytestmark = marks.bare  # programs of the control plane are killed


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.short])
async def test_every_job_of_a_seed_ends_as_it_should(name: str, tmp_path: Path) -> None:
    report = await play(FAULTS[name], 1, tmp_path, short=True)
    assert report.complaints == [], "\n".join(report.complaints)
