"""Tests marked `virtual_time` run on a loop whose clock jumps; all others on an ordinary one."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest
import structlog
from e2e.support.every_kind import ENTRY, PACKAGE
from e2e.support.virtual_time import VirtualLoop

from training_controllers.frameworks.plugins import GROUP, plugins

pytest_plugins = [*(f"e2e.support.{name}" for name in ("skips", "profiles", "few_reports", "kubeconfigs")), "pytester"]


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until everything is collected
    config.addinivalue_line("markers", "virtual_time: run on an event loop on which waiting costs nothing")
    # As the operator's default: a line per reconcile, which no test reads, would take a third of the time.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))
    # As in an activated environment: asking the shims of a version manager takes longer than most tests.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def pytest_collection_finish() -> None:
    """What has been imported and collected stays; looking through it again and again takes a quarter of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualLoop}
    return {"real": asyncio.new_event_loop}


class Install(Protocol):
    """Makes a package with one entry point, as pip would leave it; by default that of `examples/plugin-deepspeed`."""

    def __call__(self, package: str = PACKAGE, entry: str = ENTRY, module: str = "") -> None: ...


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Let the operator in this process see packages with frameworks."""

    def installed(package: str = PACKAGE, entry: str = ENTRY, module: str = "") -> None:
        folder = tmp_path / package
        information = folder / f"{package.replace('-', '_')}-1.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (information / "entry_points.txt").write_text(f"[{GROUP}]\nit = {entry}\n")
        if module:
            (folder / f"{entry.partition(':')[0]}.py").write_text(module)
        monkeypatch.syspath_prepend(folder)
        plugins.cache_clear()

    yield installed
    monkeypatch.undo()
    plugins.cache_clear()


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Commands that a test runs in this process set up logging; the next test must not feel it."""
    before = structlog.get_config()
    yield
    if structlog.get_config() != before:
        structlog.configure(**before)
