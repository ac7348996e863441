"""The page of what runs names tests that there are."""

from __future__ import annotations

import re

import pytest
from e2e.support.documentation.what_runs import RecordedRun, recorded_runs
from e2e.support.paths import ROOT

OURS = [run for run in recorded_runs() if "::" in run["test"]]


@pytest.mark.parametrize("run", OURS, ids=lambda run: run["test"])
def test_a_recorded_test_is_there(run: RecordedRun) -> None:
    file, _, name = run["test"].partition("::")
    function = name.partition("[")[0]
    assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE), run
