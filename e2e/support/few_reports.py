"""A pytest plugin: of a test that passes, one report instead of three goes from a worker to who started it."""

from __future__ import annotations

from typing import Final

import pytest
from _pytest.runner import runtestprotocol

SLOW: Final = 0.005
"""Seconds of a setup or teardown that `--durations` shall show."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest's own, which writes, sends and reads more about most tests here than they do themselves."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > SLOW:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
