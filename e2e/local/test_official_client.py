"""The official Python client, unmodified, against the local API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import kubernetes
import kubernetes.dynamic
import kubernetes.dynamic.exceptions
import kubernetes.utils
import pytest
from e2e.support.embedded import embedded
from e2e.support.objects import config_map, pod
from e2e.support.widgets import WIDGETS, widget
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

T = TypeVar("T")


def use(client: Any) -> dict[str, Any]:
    """Do what users of the client do."""
    core, custom = kubernetes.client.CoreV1Api(client), kubernetes.client.CustomObjectsApi(client)
    seen: dict[str, Any] = {}
    pod = {
        "metadata": {"name": "p", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]},
    }
    seen["created"] = core.create_namespaced_pod("default", pod).status.phase
    core.patch_namespaced_pod_status("p", "default", {"status": {"phase": "Running"}})
    listed = core.list_namespaced_pod("default", label_selector="app=a").items
    seen["listed"] = [(each.metadata.name, each.status.phase) for each in listed]
    watch = kubernetes.watch.Watch()
    events = watch.stream(core.list_namespaced_pod, "default", timeout_seconds=5)
    seen["watched"] = next(iter(events))["type"]
    watch.stop()
    definitions = kubernetes.client.ApiextensionsV1Api(client)
    definitions.create_custom_resource_definition(WIDGETS)
    established = watch.stream(definitions.list_custom_resource_definition, timeout_seconds=5)
    seen["established"] = any(_established(event["object"]) for event in established)
    where = ("fidelity.example.com", "v1", "default", "widgets")
    custom.create_namespaced_custom_object(*where, widget("w", size=3))
    custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 4}})
    seen["size"] = custom.get_namespaced_custom_object(*where, "w")["spec"]["size"]
    try:
        custom.get_namespaced_custom_object(*where, "absent")
    except kubernetes.client.ApiException as error:
        seen["absent"] = error.status
    core.delete_namespaced_pod("p", "default")
    seen["left"] = core.list_namespaced_pod("default").items
    return seen


def _established(definition: Any) -> bool:
    conditions = {each.type: each.status for each in definition.status.conditions or ()}
    return conditions.get("Established") == "True"


async def on_server(folder: Path, use: Callable[[Any], T]) -> T:
    """Let `use` talk to a server from a thread, because the client blocks."""
    async with embedded(folder) as (_, kubeconfig):
        client = kubernetes.config.new_client_from_config(str(kubeconfig))
        return await asyncio.to_thread(use, client)


async def test_the_client_works_as_on_any_cluster(tmp_path: Path) -> None:
    seen = await on_server(tmp_path, use)
    assert seen == {
        "created": "Pending",
        "listed": [("p", "Running")],
        "watched": "ADDED",
        "established": True,
        "size": 4,
        "absent": 404,
        "left": [],
    }


async def test_the_dynamic_client(tmp_path: Path) -> None:
    def use_dynamic(client: Any) -> None:
        dynamic = kubernetes.dynamic.DynamicClient(client)
        definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
        definitions.create(body=WIDGETS)
        for event in definitions.watch(timeout=5):
            conditions = {each.type: each.status for each in event["object"].status.conditions or ()}
            if conditions.get("Established") == "True":
                break
        dynamic = kubernetes.dynamic.DynamicClient(client)  # discovers anew
        widgets = dynamic.resources.get(api_version="fidelity.example.com/v1", kind="Widget")
        body = {**widget("w", size=1), "metadata": {"name": "w", "labels": {"a": "b"}}}
        assert widgets.create(body=body, namespace="default").spec.size == 1
        merge = {"content_type": "application/merge-patch+json"}
        change = {"metadata": {"name": "w"}, "spec": {"size": 2}}
        assert widgets.patch(body=change, namespace="default", **merge).spec.size == 2
        found = widgets.get(name="w", namespace="default")
        found.spec.size = 3
        replaced = widgets.replace(body=found.to_dict(), namespace="default")
        assert (replaced.spec.size, replaced.metadata.generation) == (3, 3)
        assert [each.metadata.name for each in widgets.get(label_selector="a=b").items] == ["w"]
        assert widgets.get(label_selector="a=c", namespace="default").items == []
        applied = widgets.server_side_apply(
            {**body, "spec": {"size": 4}}, name="w", namespace="default", field_manager="me", force_conflicts=True
        )
        assert applied.spec.size == 4
        widgets.delete(name="w", namespace="default")
        with pytest.raises(kubernetes.dynamic.exceptions.NotFoundError):
            widgets.get(name="w", namespace="default")

    await on_server(tmp_path, use_dynamic)


async def test_patches_pages_and_conditions_of_writes(tmp_path: Path) -> None:
    def change(client: Any) -> None:
        core = kubernetes.client.CoreV1Api(client)
        for name in "abc":
            core.create_namespaced_config_map("default", config_map(name))
        operations = [{"op": "add", "path": "/data/x", "value": "1"}]
        assert core.patch_namespaced_config_map("a", "default", operations).data == {"a": "1", "x": "1"}
        assert core.patch_namespaced_config_map("a", "default", {"data": {"x": None}}).data == {"a": "1"}
        core.create_namespaced_pod("default", pod("p"))
        more = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
        containers = core.patch_namespaced_pod("p", "default", more).spec.containers
        assert [(each.name, each.image) for each in containers] == [("main", "busybox:2")]
        page = core.list_namespaced_config_map("default", limit=2)
        rest = core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
        names = [each.metadata.name for each in (*page.items, *rest.items)]
        assert names == ["a", "b", "c", "kube-root-ca.crt"]
        old = core.read_namespaced_config_map("b", "default")
        core.patch_namespaced_config_map("b", "default", {"data": {"y": "2"}})
        with pytest.raises(kubernetes.client.ApiException) as caught:
            core.replace_namespaced_config_map("b", "default", old)
        assert (caught.value.status, _status(caught.value)["reason"]) == (409, "Conflict")
        dry = core.create_namespaced_config_map("default", config_map("d"), dry_run="All")
        assert dry.metadata.uid
        with pytest.raises(kubernetes.client.ApiException, match="404"):
            core.read_namespaced_config_map("d", "default")

    await on_server(tmp_path, change)


def _status(error: kubernetes.client.ApiException) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(error.body)
    return status


async def test_there_is_one_leader(tmp_path: Path) -> None:
    def elect(client: Any) -> list[bool]:
        kubernetes.client.Configuration.set_default(client.configuration)  # the locks take no client
        candidates = [
            leaderelection.LeaderElection(
                electionconfig.Config(ConfigMapLock("lock", "default", name), 3, 2, 1, lambda: None, lambda: None)
            )
            for name in ("first", "second")
        ]
        return [each.try_acquire_or_renew() for each in (*candidates, *candidates)]

    assert await on_server(tmp_path, elect) == [True, False, True, False]
