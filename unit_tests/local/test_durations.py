from __future__ import annotations

import pytest

from training_local.durations import age, human

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
