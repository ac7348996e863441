"""The official Python client, unmodified, against the local API server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


def use(kubeconfig: Path) -> dict[str, Any]:
    """Do what users of the client do; runs in a thread, because the client blocks."""
    client = kubernetes.config.new_client_from_config(str(kubeconfig))
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
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    where = ("example.com", "v1", "default", "widgets")
    custom.create_namespaced_custom_object(*where, body)
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


async def test_the_client_works_as_on_any_cluster(tmp_path: Path) -> None:
    identity = server_identity(["127.0.0.1"])
    server = ApiServer(BUILTIN, crd_types)
    async with server.running(), serving(server, identity, "secret") as url:
        write_kubeconfig(tmp_path / "kubeconfig", url, identity.authority, "secret")
        seen = await asyncio.to_thread(use, tmp_path / "kubeconfig")
    assert seen == {
        "created": "Pending",
        "listed": [("p", "Running")],
        "watched": "ADDED",
        "established": True,
        "size": 4,
        "absent": 404,
        "left": [],
    }


async def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    identity = server_identity(["127.0.0.1"])
    server = ApiServer(BUILTIN, crd_types)
    async with server.running(), serving(server, identity, "secret") as url:
        write_kubeconfig(tmp_path / "kubeconfig", url, identity.authority, "guessed")
        client = kubernetes.config.new_client_from_config(str(tmp_path / "kubeconfig"))
        with pytest.raises(kubernetes.client.ApiException) as caught:
            await asyncio.to_thread(kubernetes.client.CoreV1Api(client).list_namespaced_pod, "default")
    assert caught.value.status == 401
