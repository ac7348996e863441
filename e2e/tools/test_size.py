"""What the lines of a file are counted as."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.support.paths import ROOT
from e2e.tools.size import RECORDED, part, sizes


@pytest.mark.parametrize(
    ("file", "counted"),
    [
        ("operator/training_operator/app.py", "product"),
        ("unit_tests/conftest.py", "tests"),
        ("e2e/conformance/golden/pt-ttl.json", "recorded"),
        ("e2e/harness/modules/etcd/go.sum", "generated"),
        ("constraints-demo.txt", "generated"),
        ("docs/index.md", "docs"),
        ("Makefile", "other"),
    ],
)
def test_part(file: str, counted: str) -> None:
    assert part(Path(file)) == counted


def test_every_file_is_counted_once_and_every_folder_is_there() -> None:
    assert sizes()["product"]["lines"] > 10_000
    assert [folder for folder in RECORDED if not (ROOT / folder).exists()] == []
