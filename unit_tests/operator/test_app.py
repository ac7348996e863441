"""The whole operator on the embedded API server, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from unit_tests.operator.cluster import PODS, World, world
from unit_tests.operator.memory_api import Network
from unit_tests.operator.scripted_api import rejection

from training_controllers.frameworks.pytorch.init_container import BadTemplate
from training_local.apiserver.transport import InMemoryTransport
from training_operator.kube.transport import Request, Stream
from training_operator.leader import LeadershipLost

pytestmark = pytest.mark.virtual_time
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/1ca428e5.training-operator.kubeflow.org"


async def test_jobs_get_their_pods_and_a_clean_stop_sends_all_events() -> None:
    async with world() as cluster:
        app = cluster.app()
        async with app.running():
            await app.wait_synced()
            assert app._unready() == ""
            await cluster.create_job()
            await asyncio.sleep(5)
            assert await cluster.names() == ["sim-worker-0", "sim-worker-1"]
        events = (await cluster.read("/api/v1/namespaces/default/events"))["items"]
        assert {"SuccessfulCreatePod", "SuccessfulCreateService"} <= {event["reason"] for event in events}
        assert app._unready() == "stopping"


async def test_a_missing_crd_is_waited_for_and_does_not_stop_other_kinds() -> None:
    async with world("pytorchjobs") as cluster:
        app = cluster.app()
        with capture_logs() as logs:
            async with app.running():
                await asyncio.sleep(10)
                assert app._unready() == ""
                await cluster.create_job("first", 1)
                await asyncio.sleep(5)
                assert await cluster.names() == ["first-worker-0"]
                await cluster.define("jaxjobs")
                await asyncio.sleep(20)
        events = [line["event"] for line in logs if line.get("resource") == "jaxjobs.kubeflow.org"]
        assert events == [
            "the API server does not have this resource yet: waiting for it",
            "watch established again",
        ]
        [missing] = [line for line in logs if line["event"].startswith("CRDs are missing")]
        assert missing["run"] == "training-operator crds | kubectl apply --server-side -f -"
        assert "JAXJob" in missing["kinds"] and "PyTorchJob" not in missing["kinds"]


class Guarded(Network):
    """A connection without the permission to list one resource."""

    def __init__(self, inner: InMemoryTransport, plural: str = "services", group: str = "") -> None:
        super().__init__(inner)
        self.allowed = False
        self.plural = plural
        name = f"{plural}.{group}" if group else plural
        self.words = f'{name} is forbidden: User "x" cannot list resource "{plural}" in API group "{group}"'

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Any]:
        if request.path.endswith(f"/{self.plural}") and not self.allowed:
            answer = rejection(403, "Forbidden", self.words)

            async def nothing() -> AsyncIterator[bytes]:
                return
                yield b""

            yield Stream(403, nothing(), answer.body)
            return
        async with super().stream(request) as stream:
            yield stream


async def test_a_missing_permission_keeps_it_from_acting_until_it_is_given() -> None:
    async with world() as cluster:
        network = Guarded(cluster.network().inner)
        app = cluster.app(network)
        await cluster.create_job()
        async with app.running():
            await asyncio.sleep(30)
            assert app._unready() == f"caches are not filled: services: {network.words}"
            assert await cluster.names() == []
            network.allowed = True
            await asyncio.sleep(60)
            assert app._unready() == ""
            assert len(await cluster.names()) == 2


async def test_without_a_permission_on_one_kind_the_others_are_served_until_it_is_given() -> None:
    async with world("pytorchjobs", "jaxjobs", "mpijobs") as cluster:
        network = Guarded(cluster.network().inner, "jaxjobs", "kubeflow.org")
        app = cluster.app(network)
        with capture_logs() as logs:
            async with app.running():
                await app.wait_synced()
                assert app._unready() == ""
                await cluster.create_job()
                await create_jax_job(cluster)
                await asyncio.sleep(60)
                assert await cluster.names() == ["sim-worker-0", "sim-worker-1"]
                network.allowed = True
                await asyncio.sleep(15)
                assert await cluster.names() == ["jax-worker-0", "sim-worker-0", "sim-worker-1"]
    lines = [line for line in logs if line.get("resource") == "jaxjobs.kubeflow.org"]
    assert [(line["event"], line.get("reason"), line.get("apply")) for line in lines] == [
        ("no permission for this resource: ignoring it", network.words, "deploy/base/permissions.yaml"),
        ("watch established again", None, None),
    ]


@pytest.mark.parametrize("plural", ["configmaps", "roles"])
async def test_without_a_permission_on_what_jobs_of_one_kind_own_the_others_are_served(plural: str) -> None:
    async with world("pytorchjobs", "mpijobs") as cluster:
        app = cluster.app(Guarded(cluster.network().inner, plural))
        async with app.running():
            await app.wait_synced()
            assert app._unready() == ""
            await cluster.create_job()
            await asyncio.sleep(5)
            assert await cluster.names() == ["sim-worker-0", "sim-worker-1"]


async def create_jax_job(cluster: World) -> None:
    template = {"spec": {"containers": [{"name": "jax", "image": "x"}]}}
    spec = {"jaxReplicaSpecs": {"Worker": {"template": template}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "jax"}, "spec": spec}
    await cluster.create("/apis/kubeflow.org/v1/namespaces/default/jaxjobs", job)


async def test_pods_are_watched_by_label_in_the_wanted_namespace() -> None:
    async with world() as cluster:
        network = cluster.network()
        async with cluster.app(network, namespace="default").running():
            await asyncio.sleep(5)
        watches = {request.path: request.query for request in network.requests if "watch" in request.query}
        assert watches[PODS]["labelSelector"] == "training.kubeflow.org/job-name"
        assert all("/namespaces/default/" in path for path in watches)


RUNNING = {"status": {"phase": "Running"}}
UNUSED = {"metadata": {"annotations": {"nobody/reads": "this"}}}


async def test_several_changes_of_pods_lead_to_one_look() -> None:
    async with world() as cluster:
        app = cluster.app()
        async with app.running():
            await cluster.create_job(workers=20)
            await asyncio.sleep(30)
            count = app.metrics.registry.get_sample_value
            label = {"controller": "pytorchjob-controller", "result": "success"}
            before = count("controller_runtime_reconcile_total", label) or 0
            await asyncio.gather(*(cluster.patch(f"{PODS}/{name}/status", RUNNING) for name in await cluster.names()))
            await asyncio.sleep(10)
            looks = (count("controller_runtime_reconcile_total", label) or 0) - before
            assert 1 <= looks <= 2  # for the pods, and for the status that it writes
            await asyncio.gather(*(cluster.patch(f"{PODS}/{name}", UNUSED) for name in await cluster.names()))
            await asyncio.sleep(10)
            assert (count("controller_runtime_reconcile_total", label) or 0) - before == looks


async def test_a_pod_that_fails_is_counted_once_and_by_the_leader_only() -> None:
    failed = {"status": {"phase": "Failed"}}
    async with world() as cluster:
        leader, standby = (cluster.app(identity=each, leader_elect=True) for each in "ab")
        async with leader.running():
            await asyncio.sleep(1)
            async with standby.running():
                await cluster.create_job()
                await asyncio.sleep(5)
                await cluster.patch(f"{PODS}/sim-worker-1/status", RUNNING)
                await cluster.patch(f"{PODS}/sim-worker-1/status", failed)
                await asyncio.sleep(30)
                counts = [app.metrics.registry.get_sample_value("failed_pods_total") for app in (leader, standby)]
                assert counts == [1, 0]


async def test_of_two_operators_the_leader_acts_and_hands_over() -> None:
    async with world() as cluster:
        networks = {name: cluster.network() for name in ("a", "b")}

        def wrote(name: str) -> list[str]:
            return [r.path for r in networks[name].requests if r.method == "POST" and r.path == PODS]

        second = cluster.app(networks["b"], identity="b", leader_elect=True)
        async with cluster.app(networks["a"], identity="a", leader_elect=True).running():
            await asyncio.sleep(5)
            async with second.running():
                await second.wait_synced()  # caches are filled on every replica
                await cluster.create_job("one", 1)
                await asyncio.sleep(30)
                assert (len(wrote("a")), len(wrote("b"))) == (1, 0)
                assert (await cluster.read(LEASE))["spec"]["holderIdentity"] == "a"
        assert (await cluster.read(LEASE))["spec"]["holderIdentity"] == ""
        async with cluster.app(networks["b"], identity="b", leader_elect=True).running():
            await asyncio.sleep(5)
            await cluster.create_job("two", 1)
            await asyncio.sleep(30)
            assert len(wrote("b")) == 1


async def test_a_lost_lease_ends_the_process_at_once() -> None:
    async with world() as cluster:
        network = cluster.network()
        app = cluster.app(network, leader_elect=True)
        task = asyncio.create_task(app.run(asyncio.Event()))
        await asyncio.sleep(10)
        network.down = True
        with pytest.raises(ExceptionGroup) as caught:
            await task
        assert caught.group_contains(LeadershipLost, depth=None)
        sent = len(network.requests)
        await asyncio.sleep(60)
        assert len(network.requests) == sent


async def test_a_reflector_that_hangs_fails_the_probe() -> None:
    async with world() as cluster:
        app = cluster.app()
        async with app.running():
            await asyncio.sleep(1)
            assert app._unhealthy() == ""
        await asyncio.sleep(2000)
        assert "no watch events of" in app._unhealthy()


async def test_a_template_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    async with world() as cluster:
        for content in (b"\xff\xfe\x00", b"{{.Nonsense"):
            file = tmp_path / "template.yaml"
            file.write_bytes(content)
            with pytest.raises(BadTemplate):
                cluster.app(pytorch_init_container_template_file=str(file))
