"""A pytest plugin of all tests: only what `allowed_skips.txt` allows may be skipped, everything else is a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NoReturn

import pytest

ALLOWED: Final = [
    line.split(" | ")[0].strip()
    for line in Path(__file__).with_name("allowed_skips.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
WITHOUT_PYTORCH: Final = "WITHOUT_PYTORCH"


def without_pytorch(why: str) -> NoReturn:
    """Skip a test for want of PyTorch where that is allowed, else fail."""
    if os.environ.get(WITHOUT_PYTORCH):
        pytest.skip(f"PyTorch may be missing: {why}")
    pytest.fail(f"{why}; where it cannot be had, set {WITHOUT_PYTORCH}=1", pytrace=False)


def disallowed(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a skip is a failure; empty if it is none."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return ""
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if any(fnmatchcase(reason, pattern) for pattern in ALLOWED):
        return ""
    return f"skipped for a reason that e2e/support/allowed_skips.txt does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped for another reason."""
    report = yield
    if why := disallowed(report):
        report.outcome, report.longrepr = "failed", why
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let a module fail that is skipped as a whole for another reason."""
    report = yield
    if why := disallowed(report):
        report.outcome, report.longrepr = "failed", why
    return report
