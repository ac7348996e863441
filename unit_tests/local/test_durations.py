from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from training_local.durations import age, age_of_process, human

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR + 30 * DAY, "8y"),
    ],
)
def test_spans(seconds: float, shown: str) -> None:
    assert human(seconds) == shown


def test_ages() -> None:
    assert age("2024-01-01T00:00:00Z", "2024-01-01T00:00:30Z") == "30s"
    assert age(None, "2024-01-01T00:00:30Z") == "<unknown>"


def test_the_clock_of_a_command_begins_with_its_process(tmp_path: Path) -> None:
    # What is loaded before counts: that is most of what a user waits for.
    program = "import time; time.sleep(0.3)\nfrom training_local.durations import since_command; print(since_command())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) >= 0.3
    assert age_of_process(tmp_path / "absent") == 0.0
