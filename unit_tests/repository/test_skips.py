"""A test that is skipped fails, unless the list of allowed reasons has its own."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from e2e.support.paths import ROOT
from e2e.support.skips import ALLOWED

TESTS = """
import pytest

def test_without_permission():
    pytest.skip("no time")

@pytest.mark.skipif(True, reason="neither")
def test_by_a_mark():
    pass

@pytest.mark.skip("needs root")
def test_with_permission():
    pass
"""


def test_skips_are_rejected_but_for_allowed_reasons(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_some=TESTS, test_module="import pytest\npytest.importorskip('no_such_module')")
    result = pytester.runpytest_inprocess(
        "-p", "e2e.support.skips", "-p", "no:asyncio", "--continue-on-collection-errors"
    )
    result.assert_outcomes(failed=1, errors=2, skipped=1)
    result.stdout.fnmatch_lines(["*ed_skips.txt does not allow: neither", "*ed_skips.txt does not allow: no time"])


@pytest.mark.parametrize("reason", ALLOWED)
def test_every_allowed_reason_is_one_that_some_test_has(reason: str) -> None:
    files = [file for folder in ("unit_tests", "e2e") for file in (ROOT / folder).rglob("*.py")]
    words = max(reason.split("*"), key=len)
    assert fnmatchcase(words, "??????*")
    assert [file for file in files if words in file.read_text() and "test_skips" not in file.name] != []
