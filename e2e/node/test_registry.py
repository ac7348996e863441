"""Pods whose images are always pulled get them from the node's own registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.harness.client import Api, eventually
from e2e.harness.cluster import Cluster
from e2e.node.images import Image
from e2e.node.registry import publish, repository_and_tag

BUSYBOX = Path("/bin/busybox")


async def test_a_pod_runs_what_was_published_under_its_name(
    cluster: Cluster, api: Api, namespace: str, kubectl: Callable[..., str]
) -> None:
    variables = {"GREETING": "hello"}
    name = "registry.example/team/greeter"
    command = ["sh", "-c", 'echo "$GREETING" "$0"', "world"]
    image = Image(name, command[3:], programs={"bin/sh": BUSYBOX}, entrypoint=command[:3], variables=variables)
    publish(image, cluster.kubeconfig.parent)
    container = {"name": "greeter", "image": name}  # without a tag, so it is pulled whatever is there
    pod = {"metadata": {"name": "greeter"}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    await api.create(f"/api/v1/namespaces/{namespace}/pods", pod)

    async def succeeded() -> bool:
        found = await api.call("GET", f"/api/v1/namespaces/{namespace}/pods/greeter")
        return bool(found["status"]["phase"] == "Succeeded")

    await eventually(succeeded, "the end of the pod", 60)
    assert kubectl("logs", "greeter") == "hello world\n"


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("docker.io/hello-world", ("library/hello-world", "latest")),
        ("team/image:1", ("team/image", "1")),
        ("registry.example/team/image:latest", ("team/image", "latest")),
    ],
)
def test_a_registry_is_asked_for_names_without_itself(name: str, asked: tuple[str, str]) -> None:
    assert repository_and_tag(name) == asked
