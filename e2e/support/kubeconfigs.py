"""A pytest plugin: kubeconfigs are read in this process, but for tests marked `apart`, which read them as the operator.

A process that does nothing else takes a second to load what reads them.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest

from training_operator.kube import config

_apart = config._read_apart


async def _here(paths: str, context: str) -> bytes:
    from training_operator.kube import kubeconfig  # noqa: PLC0415 - slow to import; who starts the workers needs it not

    answer = await asyncio.to_thread(kubeconfig._main, paths, context)
    logging.disable(logging.NOTSET)
    return msgspec.json.encode(answer)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "apart: read kubeconfigs in a process, as the operator does")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose how this test reads them."""
    config._read_apart = _apart if item.get_closest_marker("apart") else _here
