"""What becomes of `--network` on machines that cannot do all of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from e2e.support.local_node import needs_namespaces

from training_local.cluster import local_cluster
from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.errors import BadInput
from training_local.node.api import TransportApi
from training_local.node.egress.mode import NetworkMode
from training_local.node.sandbox.doctor import Diagnosis
from training_operator.kube.transport import Request


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINING_OPERATOR_STATE", str(tmp_path / "state"))


def without_nftables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play a kernel that cannot redirect connections, which this one cannot be made."""

    async def examine() -> Diagnosis:
        return Diagnosis(missing={"redirect": "nftables: Operation not supported"})

    monkeypatch.setattr(local_cluster, "examine", examine)


@needs_namespaces
async def test_without_redirection_there_is_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    without_nftables(monkeypatch)
    said = "Without redirect (nftables: Operation not supported): programs in pods have no other network access"
    for network, expected in ((NetworkMode.CLUSTER, True), (NetworkMode.PROXY, True), (NetworkMode.NONE, False)):
        async with LocalCluster(ClusterOptions(network=network)) as cluster:
            assert any(note.startswith(said) for note in cluster.sandbox_notes) == expected
            assert await _said(cluster, "printf %s $https_proxy") == ("http://10.244.255.254:3128" if expected else "")


@needs_namespaces
async def test_names_are_asked_for_unless_there_is_no_network() -> None:
    for network, expected in ((None, "nameserver 10.244.255.254\n"), (NetworkMode.NONE, "")):
        options = ClusterOptions(network=network) if network else ClusterOptions()
        async with LocalCluster(options) as cluster:
            assert await _said(cluster, "cat /etc/resolv.conf; printf %s $https_proxy") == expected


async def _said(cluster: LocalCluster, script: str) -> str:
    """Let a pod say something."""
    command = ["sh", "-c", f"({script}) > /dev/termination-log"]
    main = {"name": "main", "image": "none", "command": command}
    pod = {"metadata": {"name": "asker"}, "spec": {"restartPolicy": "Never", "containers": [main]}}
    pods = "/api/v1/namespaces/default/pods"
    await cluster.transport.request(Request("POST", pods, body=json.dumps(pod).encode()))
    async with asyncio.timeout(20):
        async for change in TransportApi(cluster.transport, "test").follow("pods"):
            status = change.object.get("status", {})
            if status.get("phase") == "Succeeded":
                return str(status["containerStatuses"][0]["state"]["terminated"].get("message", ""))
    raise AssertionError("the watch has ended")


async def test_what_cannot_be_had_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="--network none: pods here have the machine's network"):
        async with LocalCluster(ClusterOptions(sandbox=SandboxMode.HOST, network=NetworkMode.NONE)):
            pass
    without_nftables(monkeypatch)
    with pytest.raises(BadInput, match="--network host: connections cannot be redirected here"):
        async with LocalCluster(ClusterOptions(network=NetworkMode.HOST)):
            pass
