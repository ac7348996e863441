"""What follows from measured points, and their picture."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.bench.curve.__main__ import KEPT, keep
from e2e.bench.curve.points import Point, extended, growth


def test_the_picture_shows_the_numbers_next_to_it_and_a_curve_measured_alone_changes_no_other(tmp_path: Path) -> None:
    kept = json.loads(KEPT.with_suffix(".json").read_text())
    family, *others = kept
    (tmp_path / "curve.json").write_text(json.dumps(kept | {family: {}}))
    keep({family: [Point(**point) for point in kept[family]["points"]]}, tmp_path / "curve")
    assert json.loads((tmp_path / "curve.json").read_text()) == kept
    assert others
    drawn, picture = (place.with_suffix(".svg") for place in (tmp_path / "curve", KEPT))
    assert drawn.read_text() == picture.read_text(), "draw it anew: python -m e2e.bench.curve --keep"


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
