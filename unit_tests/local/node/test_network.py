"""What is known of services when a pod starts in host mode."""

from __future__ import annotations

from e2e.support.local_node import Api, Json, pod, service

from training_local.node.api import TransportApi
from training_local.node.hosts import Service
from training_local.node.network import Network
from training_local.node.podspec import Pod, Wire, parse_pod
from training_local.node.sandbox.messages import Setup


class Counting(TransportApi):
    """Counts how often services are read."""

    looks = 0

    async def services(self, namespace: str) -> tuple[int, list[Wire]]:
        self.looks += 1
        return await super().services(namespace)


def network() -> Network:
    return Network(Setup("host", "/nowhere", "/nowhere", ()))


async def created(api: Api, name: str) -> Pod:
    return parse_pod(await api.create("pods", pod(name, "true")))


async def test_pods_that_come_together_are_content_with_one_look() -> None:
    async with Api().serving() as api:
        counting, seen = Counting(api.transport, "local"), network()
        await api.create("services", service("first"))
        together = [await created(api, f"pod-{index}") for index in range(3)]
        for each in together:
            assert [found.name for found in await seen.services(each, counting)] == ["first"]
        assert counting.looks == 1

        await api.create("services", service("second"))
        late = await created(api, "late")
        assert [found.name for found in await seen.services(late, counting)] == ["first", "second"]


async def test_a_change_that_is_reported_late_undoes_nothing() -> None:
    async with Api().serving() as api:
        seen, path = network(), "/api/v1/namespaces/default/services/again"
        old = await api.create("services", service("again"))
        await api.request("DELETE", path)
        new: Json = await api.create("services", service("again", "other"))
        known = await seen.services(await created(api, "pod"), TransportApi(api.transport, "local"))
        for gone in (False, True):
            seen.put_service(Service.parse(old), gone=gone)
            assert [found.selector for found in known] == [{"pod": "other"}]
        seen.put_service(Service.parse(new), gone=True)
        assert [*known] == []
