"""Fixtures for tests against a real API server, or against the embedded one: `pytest e2e --provider ...`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace
from e2e.harness.operator import Operator, running_operator
from e2e.harness.providers import PROVIDERS, provide

pytest_plugins = ["e2e.support.skips", "e2e.support.profiles"]
Kubectl = Callable[..., str]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--provider", choices=PROVIDERS, default="bare", help="which API server to test against")
    parser.addoption("--kubeconfig", type=Path, help="kubeconfig of the cluster, for the provider `existing`")
    parser.addoption("--environments", type=Path, help="folder of the frameworks' environments; runs e2e/training")
    parser.addoption(
        "--require-frameworks",
        default="",
        metavar="NAMES",
        help="frameworks and libraries whose tests fail instead of being skipped",
    )
    parser.addoption("--record", action="store_true", help="note the training tests that pass, for docs/what-runs.md")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are about another API server (`e2e.support.marks`)."""
    provider = config.getoption("--provider")
    here = [item for item in items if all(provider in mark.args for mark in item.iter_markers("provider"))]
    config.hook.pytest_deselected(items=[*({*items} - {*here})])
    items[:] = here


def pytest_report_header(config: pytest.Config) -> str:
    return f"API server: {config.getoption('--provider')}"


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """The API server under test, with our CRDs."""
    with provide(pytestconfig.getoption("--provider"), pytestconfig.getoption("--kubeconfig")) as cluster:
        yield cluster


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    """A client with full rights."""
    async with connect(cluster.kubeconfig) as api:
        yield api


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    """A namespace of the test's own."""
    name = f"e2e-{secrets.token_hex(4)}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def jobs(api: Api, namespace: str) -> Namespace:
    """Jobs and pods of the test's own namespace."""
    return Namespace(api, namespace)


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    """Run kubectl in the test's namespace and return what it prints."""

    def run(*arguments: str, stdin: str | None = None) -> str:
        return cluster.run_kubectl(f"--namespace={namespace}", *arguments, stdin=stdin)

    return run


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One operator for all tests of a module."""
    with running_operator(cluster.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log") as operator:
        yield operator
