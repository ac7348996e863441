"""Words that are not ours are found, in pages, help texts and messages, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.harness.binaries import VALE, programs
from e2e.tools.prose import alerts, texts

PAGE = "# Run it anew\n\n`anew` is code, and so is\n\n```console\n$ anew\n```\n"
MODULE = '''"""A docstring may begin anew."""
NAME = "anew"
def fail(job: str) -> str:
    """Say anew."""
    return f"{job} begins anew"
'''


@pytest.fixture(scope="module")
def vale() -> Path:
    return programs([VALE])["vale"]


def test_a_word_of_our_own_is_found_in_prose_and_not_in_code(vale: Path, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    [found] = alerts(vale, tmp_path, [Path("page.md")])
    assert found == "page.md:1: Write 'again, restart, re-create' in place of 'anew'."


@pytest.mark.parametrize(("with_docstrings", "lines"), [(False, [5]), (True, [1, 4, 5])])
def test_strings_of_a_module_are_read_at_their_lines(
    vale: Path, tmp_path: Path, with_docstrings: bool, lines: list[int]
) -> None:
    (tmp_path / "x.py.txt").write_text(texts(MODULE, with_docstrings=with_docstrings))
    assert [int(found.split(":")[1]) for found in alerts(vale, tmp_path, [Path("x.py.txt")])] == lines
