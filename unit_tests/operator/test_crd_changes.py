"""CRDs come, go and change hands while the operator runs: its own are watched, those of others ignored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs
from unit_tests.operator.cluster import World, crd, world
from unit_tests.operator.memory_api import Network
from unit_tests.operator.scripted_api import rejection

from training_operator.app import App
from training_operator.kube.transport import Request, Response

pytestmark = pytest.mark.virtual_time

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MPI_JOBS = "mpijobs.kubeflow.org"
ABSENT = "the API server does not have this resource yet: waiting for it"
FOREIGN = "this CRD is another operator's: ignoring its objects"
AGAIN = "watch established again"
OURS = {version["name"]: version for version in crd("mpijobs")["spec"]["versions"]}
ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def other(*, serves_ours: bool, stores_ours: bool = False) -> list[Any]:
    """Versions of a CRD that serves v2beta1."""
    theirs = {"name": "v2beta1", "served": True, "storage": not stores_ours, "schema": ANYTHING}
    return [theirs, {**OURS["v1"], "storage": stores_ours}] if serves_ours else [theirs]


def mpi_crd(versions: list[Any]) -> Any:
    known = crd("mpijobs")
    return {**known, "spec": {**known["spec"], "versions": versions}}


def mpi_job(name: str, version: str = "v1") -> Any:
    template = {"spec": {"containers": [{"name": "mpi", "image": "x"}]}}
    spec = {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": template}}}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": name}, "spec": spec}


class Watched:
    """A running operator, and what it logs about MPIJobs."""

    def __init__(self, cluster: World, app: App, logs: list[Any]) -> None:
        self.cluster, self.app, self._logs = cluster, app, logs

    @property
    def logged(self) -> list[str]:
        return [line["event"] for line in self._logs if line.get("resource") == MPI_JOBS]

    @property
    def reasons(self) -> list[str]:
        return [line["reason"] for line in self._logs if line.get("resource") == MPI_JOBS and "reason" in line]

    async def create(self, name: str, version: str = "v1") -> None:
        await self.cluster.create(f"/apis/kubeflow.org/{version}/namespaces/default/mpijobs", mpi_job(name, version))
        await asyncio.sleep(5)

    async def delete_crd(self) -> None:
        request = Request("DELETE", f"{CRDS}/{MPI_JOBS}")
        assert (await self.cluster.network().request(request)).status == 200
        await asyncio.sleep(60)


@asynccontextmanager
async def operating(versions: list[Any] | None, **settings: Any) -> AsyncIterator[Watched]:
    """An operator on a server with these versions of MPIJobs, after a minute."""
    async with world("pytorchjobs") as cluster:
        if versions is not None:
            await cluster.create(CRDS, mpi_crd(versions))
        app = cluster.app(enable_scheme=("PyTorchJob", "MPIJob"), **settings)
        with capture_logs() as logs:
            async with app.running():
                await asyncio.sleep(60)
                assert app._unready() == ""
                yield Watched(cluster, app, logs)
                assert app._unready() == ""
            assert [line for line in logs if line["log_level"] == "error"] == []


@pytest.mark.parametrize(
    ("serves_ours", "reason"),
    [
        (False, f"{MPI_JOBS} is served as v2beta1, not as v1"),
        (True, f"{MPI_JOBS} is stored as v2beta1, not as v1"),
    ],
)
async def test_a_crd_of_another_operator_is_ignored_with_one_line(serves_ours: bool, reason: str) -> None:
    async with operating(other(serves_ours=serves_ours)) as watched:
        await watched.create("theirs", "v2beta1")
        await watched.cluster.create_job("ours", 1)
        await asyncio.sleep(3600)
        assert await watched.cluster.names() == ["ours-worker-0"]
        assert (watched.logged, watched.reasons) == ([FOREIGN], [reason])


async def test_our_crd_in_its_place_is_picked_up() -> None:
    async with operating(other(serves_ours=False)) as watched:
        await watched.delete_crd()
        await watched.cluster.define("mpijobs")
        await asyncio.sleep(30)
        await watched.create("late")
        assert await watched.cluster.names() == ["late-launcher"]
        assert watched.logged == [FOREIGN, ABSENT, AGAIN]


async def test_a_further_version_beside_our_stored_one_changes_nothing() -> None:
    async with operating(other(serves_ours=True, stores_ours=True)) as watched:
        await watched.create("ours")
        assert await watched.cluster.names() == ["ours-launcher"]
        assert watched.logged == []


async def test_jobs_are_ignored_once_another_operator_has_taken_over_their_crd() -> None:
    async with operating([OURS["v1"]]) as watched:
        await watched.create("ours")
        await watched.cluster.patch(f"{CRDS}/{MPI_JOBS}", {"spec": {"versions": other(serves_ours=True)}})
        await asyncio.sleep(60)
        [launcher] = await watched.cluster.names()
        await watched.cluster.network().request(Request("DELETE", f"/api/v1/namespaces/default/pods/{launcher}"))
        await asyncio.sleep(600)
        assert await watched.cluster.names() == []
        assert watched.logged == [FOREIGN]


async def test_a_crd_that_is_deleted_and_created_again_is_watched_again() -> None:
    async with operating([OURS["v1"]]) as watched:
        await watched.create("first")
        await watched.delete_crd()
        assert await watched.cluster.names() == []
        assert watched.logged == [ABSENT]
        await watched.cluster.define("mpijobs")
        await asyncio.sleep(30)
        await watched.create("second")
        assert await watched.cluster.names() == ["second-launcher"]
        assert watched.logged == [ABSENT, AGAIN]


async def test_a_kind_that_is_not_enabled_is_never_asked_for() -> None:
    async with world("pytorchjobs", "mpijobs") as cluster:
        network = cluster.network()
        async with cluster.app(network, enable_scheme=("PyTorchJob",)).running():
            await cluster.create("/apis/kubeflow.org/v1/namespaces/default/mpijobs", mpi_job("other"))
            await cluster.create_job("ours", 1)
            await asyncio.sleep(60)
        assert await cluster.names() == ["ours-worker-0"]
        assert not [request.path for request in network.requests if "mpijobs" in request.path]


class Hidden(Network):
    """A connection without the permission for discovery."""

    async def request(self, request: Request) -> Response:
        if request.path in ("/apis/kubeflow.org/v1", "/apis/kubeflow.org"):
            return rejection(403, "Forbidden")
        return await super().request(request)


async def test_without_permission_for_discovery_a_served_resource_is_taken_for_ours() -> None:
    async with world() as cluster, cluster.app(Hidden(cluster.network().inner)).running():
        await cluster.create_job("sim", 1)
        await asyncio.sleep(10)
        assert await cluster.names() == ["sim-worker-0"]
