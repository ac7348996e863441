"""What follows from measured points, and their picture."""

from __future__ import annotations

from pathlib import Path

from e2e.bench.curve.__main__ import KEPT, draw
from e2e.bench.curve.points import Point, extended, growth


def test_the_picture_shows_the_numbers_beside_it(tmp_path: Path) -> None:
    drawn = tmp_path / "curve.svg"
    draw(KEPT.with_suffix(".json"), drawn)
    assert drawn.read_text() == KEPT.with_suffix(".svg").read_text(), "draw it anew: python -m e2e.bench.curve --keep"


def test_larger_sizes_are_computed_on_the_line_of_the_last_two() -> None:
    measured = [Point(10, (1.0, 50.0)), Point(100, (1.0, 60.0)), Point(200, (1.5, 80.0))]
    assert extended(measured, [10, 100, 200, 400]) == [*measured, Point(400, (2.5, 120.0), computed=True)]
    assert extended(measured[:1], [10, 100]) == measured[:1]


def test_the_cost_of_a_unit_grows_from_the_second_measured_size_to_the_last() -> None:
    points = [Point(10, (1.0, 50.0)), Point(100, (1.0, 59.0)), Point(200, (1.1, 107.0)), Point(400, (9.0, 9.0), True)]
    assert growth(points, "placed / floor", 0) is not None
    assert round(growth(points, "placed / floor", 0) or 0, 3) == 0.1
    assert round(growth(points, "peak memory, MB", 1) or 0, 3) == 2.0, "0.1 MB for each of the first, 0.3 for the rest"
    assert growth(points[:2], "placed / floor", 0) is None
