"""The node's scheduler decides as the real one, and says it in the same words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.support.local_node import DEFAULT, Api
from e2e.support.scheduling import NODE, POLITE, RECORDING, SITUATIONS

from training_local.node.podspec import Pod, amounts, parse_pod
from training_local.node.scheduler import Machine, decide

RECORDED: dict[str, dict[str, str]] = json.loads(RECORDING.read_text())


def machine(situation: dict[str, Any]) -> Machine:
    node, spec = situation["node"], situation["node"].get("spec", {})
    labels, taints = node.get("metadata", {}).get("labels", {}), spec.get("taints", ())
    return Machine(NODE, amounts(situation["capacity"]), labels, taints, spec.get("unschedulable", False))


async def stored(api: Api, pod: dict[str, Any]) -> Pod:
    """The pod as an API server completes it."""
    return parse_pod(await api.request("POST", f"{DEFAULT}/pods", pod))


@pytest.mark.parametrize("name", SITUATIONS)
async def test_as_the_real_scheduler(name: str) -> None:
    situation, api = SITUATIONS[name], Api()
    async with api.server.running():
        await api.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", POLITE)
        present = [await stored(api, pod) for pod in situation["present"]]
        incoming = await stored(api, situation["incoming"])
    if RECORDED[name]["reason"] == "SchedulingGated":
        assert incoming.status["conditions"][0]["message"] == RECORDED[name]["message"]
        return
    (decision,) = decide([incoming], present, machine(situation), ())
    said = decision.message or f"Successfully assigned default/incoming to {NODE}"
    assert said == RECORDED[name]["message"]


def pod(name: str, cpu: str = "1", **spec: Any) -> Pod:
    resources = {"requests": {"cpu": cpu}}
    container = {"name": "main", "resources": resources}
    metadata = {"name": name, "namespace": "n", "uid": name}
    return parse_pod({"metadata": metadata, "spec": {"containers": [container], **spec}})


SMALL = Machine("small", amounts({"cpu": "2", "pods": "10"}))


def placed(*waiting: Pod, there: tuple[Pod, ...] = ()) -> list[str]:
    return [decision.pod.metadata.name for decision in decide(waiting, there, SMALL, ()) if not decision.message]


def test_higher_priority_first_and_then_first_come_first_served() -> None:
    assert placed(pod("a"), pod("b"), pod("c")) == ["a", "b"]
    assert placed(pod("a"), pod("b"), pod("c", priority=1)) == ["c", "a"]


def test_a_pod_that_does_not_fit_keeps_no_other_waiting() -> None:
    assert placed(pod("large", cpu="3", priority=9), pod("small")) == ["small"]


def test_what_is_there_counts() -> None:
    assert placed(pod("a"), pod("b"), there=(pod("c", cpu="1500m"),)) == []
    assert placed(pod("a", cpu="500m"), there=(pod("c", cpu="1500m"),)) == ["a"]


def test_ports_of_pods_with_networks_of_their_own_never_collide() -> None:
    ports = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    pods = [pod(name, containers=ports, hostNetwork=True) for name in "ab"]
    apart = Machine("m", SMALL.allocatable, own_networks=True)
    assert [bool(decision.message) for decision in decide(pods, (), SMALL, ())] == [False, True]
    assert [bool(decision.message) for decision in decide(pods, (), apart, ())] == [False, False]


def test_a_claim_must_exist_in_the_namespace() -> None:
    wanting = pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    assert not next(decide([wanting], (), SMALL, {("n", "data")})).message
    assert next(decide([wanting], (), SMALL, {("other", "data")})).message


def test_overhead_and_limits_count() -> None:
    limited = {"name": "main", "resources": {"limits": {"cpu": "1", "memory": "1Ki"}, "requests": {"memory": "512"}}}
    counted = pod("a", containers=[limited], overhead={"cpu": "250m"})
    assert counted.requests == {"cpu": 1250, "memory": 512, "pods": 1}
