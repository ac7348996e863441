"""Recordings are kept as their recorders write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.conformance.__main__ import GOLDEN, OBJECTS
from e2e.fidelity.suite import RECORDED, STEPS
from e2e.harness.recordings import text_of
from e2e.migration import record
from e2e.support import scheduling
from e2e.tools import pictures

FILES = [
    *((path, OBJECTS) for path in GOLDEN.iterdir()),
    *((path, STEPS) for path in RECORDED.iterdir()),
    *((path, record.OBJECTS) for path in record.RECORDED.iterdir()),
    (scheduling.RECORDING, 1),
    (pictures.RECORDING, pictures.OBJECTS),
]


def test_objects_have_a_line_each() -> None:
    content = {"b": [{"name": "é", "a": [1, {}]}, {}], "a": [], "c": {"x": {"y": [2]}}}
    assert text_of(content, 2).splitlines() == [
        "{",
        ' "a": [],',
        ' "b": [',
        '  {"a": [1, {}], "name": "é"},',
        "  {}",
        " ],",
        ' "c": {',
        '  "x": {"y": [2]}',
        " }",
        "}",
    ]


@pytest.mark.parametrize(("path", "depth"), FILES, ids=lambda value: getattr(value, "name", ""))
def test_recording_is_as_its_recorder_writes_it(path: Path, depth: int) -> None:
    assert path.read_text() == text_of(json.loads(path.read_text()), depth)
