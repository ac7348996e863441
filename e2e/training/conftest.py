"""Fixtures of the training tests: `make train`, or `pytest e2e/training --environments FOLDER`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from e2e.harness.client import connect
from e2e.harness.local_up import LocalUp, local_up
from e2e.harness.operator import PROGRAM
from e2e.support.denied_namespaces import DENIED
from e2e.support.local_node import NO_NAMESPACES
from e2e.training.examples import LIBRARIES, Example
from e2e.training.recording import note
from e2e.training.runs import Run

from training_local.errors import BadInput
from training_local.run.examples import DEMOS, python_for

Start = Callable[[Example], Awaitable[Run]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "framework(name): needs this framework or library, or is skipped")
    config.addinivalue_line("markers", "recorded(library, kind, shown, packages): with --record, noted where it passes")
    if unknown := required(config) - {*DEMOS, *LIBRARIES}:
        known = ", ".join((*DEMOS, *LIBRARIES))
        raise pytest.UsageError(f"--require-frameworks: there is no {', '.join(sorted(unknown))}; it takes {known}")


def required(config: pytest.Config) -> set[str]:
    """The frameworks and libraries whose tests may not be skipped."""
    return set(config.getoption("--require-frameworks").replace(",", " ").split())


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Other runs of `pytest e2e` leave this folder out: the environments are large."""
    return None if config.getoption("--environments") else True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the run of a test that has passed, where that is asked for."""
    report = yield
    marker = item.get_closest_marker("recorded")
    if marker is not None and report.when == "call" and report.passed and item.config.getoption("--record"):
        python = item.funcargs["python"]
        assert isinstance(python, Path)
        note(item.nodeid, python, **marker.kwargs)
    return report


@pytest.fixture(scope="session")
def cluster_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    """One cluster for all tests of this process."""
    with local_up(tmp_path_factory.mktemp("training")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def host_mode_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    """One cluster where namespaces are denied, so that it falls back to host mode, for all tests of this process."""
    denied = () if NO_NAMESPACES else DENIED
    with local_up(tmp_path_factory.mktemp("host"), program=(*denied, PROGRAM)) as cluster:
        yield cluster


@pytest.fixture
def python(request: pytest.FixtureRequest) -> Path:
    """The Python of the test's framework; without one the test is skipped, or fails if the framework is required."""
    marker = request.node.get_closest_marker("framework")
    assert marker is not None, "a training test needs the marker `framework`"
    name: str = marker.kwargs["name"]
    folder = request.config.getoption("--environments") / name
    try:
        if name in LIBRARIES:
            return python_of_library(folder)
        return python_for(DEMOS[name], folder if folder.is_dir() else None)
    except BadInput as error:
        told = f"{error}; `make train` makes all environments but PyTorch's, those of libraries where torch is"
        if name in required(request.config):
            pytest.fail(f"{name} is required: {told}")
        pytest.skip(f"{name} is not here: {told}")


def python_of_library(folder: Path) -> Path:
    """The Python of a library's environment; raises `BadInput` without one."""
    if not (python := folder.absolute() / "bin" / "python").exists():
        raise BadInput(f"{folder} has no environment")
    return python


@pytest.fixture
async def start(cluster_up: LocalUp, python: Path) -> AsyncIterator[Start]:
    """Start an example; it is removed after the test."""
    async with starting(cluster_up, python) as started:
        yield started


@pytest.fixture
async def start_in_host_mode(host_mode_up: LocalUp, python: Path) -> AsyncIterator[Start]:
    """Start an example without namespaces; it is removed after the test."""
    async with starting(host_mode_up, python) as started:
        yield started


@asynccontextmanager
async def starting(cluster: LocalUp, python: Path) -> AsyncIterator[Start]:
    """Start examples on a cluster; they are removed afterwards."""
    async with connect(cluster.kubeconfig) as api, AsyncExitStack() as runs:

        async def started(example: Example) -> Run:
            example.use_python(python)
            run = Run(cluster.kubeconfig, api, example)
            await run.start()
            runs.push_async_callback(run.remove)
            return run

        yield started
