"""Rules without effects: status, names, host mode, restarts, what is ignored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from e2e.support.local_node import pod, service

from training_local.node import status
from training_local.node.container import Backoff
from training_local.node.hosts import Peer, Service, Services, entries, hosts_file, names_of_all
from training_local.node.podspec import Pod, parse_pod
from training_local.node.rewrite import Rewriter
from training_local.node.status import ContainerView, PodView, Running, Terminated, Waiting

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUNNING = ContainerView(Running(NOW))
CRASHED = ContainerView(Terminated(1, "Error", NOW, NOW))
DONE = ContainerView(Terminated(0, "Completed", NOW, NOW))
BACKING_OFF = ContainerView(Waiting("CrashLoopBackOff"), last=Terminated(1, "Error", NOW, NOW), restarts=3)
NEW = ContainerView()
SIDECAR = {"name": "side", "restartPolicy": "Always"}


def parsed(body: dict[str, Any], uid: str = "u", **metadata: object) -> Pod:
    body["metadata"] |= {"namespace": "team", "uid": uid, **metadata}
    return parse_pod(body)


def two(policy: str, *init: dict[str, Any]) -> Pod:
    body = pod("p", "true", restartPolicy=policy, initContainers=list(init))
    body["spec"]["containers"].append({"name": "other"})
    return parsed(body)


@pytest.mark.parametrize(
    ("policy", "main", "other", "phase"),
    [
        ("Never", NEW, NEW, "Pending"),
        ("Never", RUNNING, NEW, "Pending"),
        ("Never", RUNNING, RUNNING, "Running"),
        ("Never", RUNNING, DONE, "Running"),
        ("Never", CRASHED, RUNNING, "Running"),
        ("Never", CRASHED, DONE, "Failed"),
        ("Never", DONE, DONE, "Succeeded"),
        ("OnFailure", CRASHED, DONE, "Running"),
        ("OnFailure", BACKING_OFF, DONE, "Running"),
        ("OnFailure", DONE, DONE, "Succeeded"),
        ("Always", DONE, DONE, "Running"),
        ("Always", BACKING_OFF, BACKING_OFF, "Running"),
    ],
)
def test_phase(policy: str, main: ContainerView, other: ContainerView, phase: str) -> None:
    assert status.phase(two(policy), PodView({"main": main, "other": other}, NOW)) == phase


@pytest.mark.parametrize(
    ("init", "view", "main", "phase"),
    [
        ({"name": "init"}, RUNNING, NEW, "Pending"),
        ({"name": "init"}, CRASHED, NEW, "Failed"),
        ({"name": "init"}, DONE, RUNNING, "Running"),
        (SIDECAR, NEW, NEW, "Pending"),
        (SIDECAR, RUNNING, RUNNING, "Running"),
        (SIDECAR, BACKING_OFF, RUNNING, "Running"),
        (SIDECAR, RUNNING, DONE, "Running"),
        (SIDECAR, CRASHED, DONE, "Succeeded"),
    ],
)
def test_phase_with_init_containers(init: dict[str, Any], view: ContainerView, main: ContainerView, phase: str) -> None:
    views = {init["name"]: view, "main": main, "other": main}
    assert status.phase(two("Never", init), PodView(views, NOW)) == phase


def test_conditions_keep_their_time_and_those_of_others() -> None:
    old = status.render(two("Never"), PodView({"main": NEW, "other": NEW}, NOW), NOW)["conditions"]
    others = {"type": "DisruptionTarget", "status": "True"}
    view = PodView({"main": RUNNING, "other": RUNNING}, NOW, conditions=[*old, others])
    new = status.render(two("Never"), view, NOW + timedelta(seconds=9))["conditions"]
    times = {c["type"]: c.get("lastTransitionTime", "")[-3:] for c in new}
    assert times["PodScheduled"] == "00Z"
    assert times["Ready"] == "09Z"
    assert new[-1] == others


def test_what_ran_before_the_node_restarted_counts_as_killed() -> None:
    views = {"main": RUNNING, "other": BACKING_OFF}
    stored = status.render(two("OnFailure"), PodView(views, NOW), NOW)
    body = pod("p", "true")
    body["status"] = stored
    found = status.recovered(parsed(body), NOW + timedelta(seconds=5))
    assert isinstance(found["main"].state, Terminated)
    assert (found["main"].state.exit_code, found["main"].state.reason) == (137, "ContainerStatusUnknown")
    assert (found["other"].restarts, found["other"].last) == (3, BACKING_OFF.last)


def test_pauses_between_restarts() -> None:
    assert [Backoff().delay(n) for n in range(7)] == [0, 1, 2, 4, 8, 10, 10]


def test_names_of_services() -> None:
    wide, strict = _service("web", publishNotReadyAddresses=True), _service("strict")
    empty = Service.parse({"metadata": {"name": "empty", "namespace": "team"}, "spec": {}})
    services = [wide, strict, _service("strange", namespace="other"), empty]
    peer = Peer(parsed(pod("a", "true")), "10.0.0.1", ready=False)
    names = ["web", "web.team", "web.team.svc", "web.team.svc.cluster.local"]
    assert list(entries([peer], services)) == [("10.0.0.1", name) for name in names]
    text = hosts_file(peer, names_of_all(entries([peer], services)), machine_name="vm")
    assert "10.0.0.1\tweb\n::ffff:10.0.0.1\tweb\n" in text
    assert "10.0.0.1\ta\n" in text
    assert "10.0.0.1\tvm\n" in text


def _service(name: str, namespace: str = "team", **spec: Any) -> Service:
    """A service that selects the pod `a`, or what `spec` says."""
    body = service(name, "a", **spec)
    body["metadata"]["namespace"] = namespace
    return Service.parse(body)


def test_services_are_found_by_the_pods_behind_them() -> None:
    known = Services()
    for index in range(3):
        known.put(_service(f"service-{index}", selector={"of": "all", "job": str(index)}))
    pods = [pod(f"pod-{index}", "true") for index in range(3)]
    for index, each in enumerate(pods):
        each["metadata"] |= {"labels": {"of": "all", "job": str(index)}, "namespace": "team"}

    def behind(each: Pod) -> list[str]:
        return [found.name for found in known.around([each]) if found.selects(each)]

    assert [behind(parsed(each)) for each in pods] == [["service-0"], ["service-1"], ["service-2"]]
    known.put(_service("service-0", selector={"job": "2"}))
    known.remove("service-1")
    assert [behind(parsed(each)) for each in pods] == [[], [], ["service-0", "service-2"]]


def test_names_of_pods_with_a_subdomain() -> None:
    peer = Peer(parsed(pod("a", "true", hostname="node-0", subdomain="job")), "10.0.0.1", ready=True)
    names = [name for _, name in entries([peer], [_service("job")])]
    assert "node-0.job" in names
    assert "10.0.0.1\tnode-0.job.team.svc.cluster.local\tnode-0\n" in hosts_file(peer, "")


def rewriter() -> Rewriter:
    names = ("job-worker-1", "job-worker-10", "job-master-0")
    services = [Service("team", name, {}, publish_unready=False, headless=True) for name in names]
    replaced = {("job-master-0", 23456): 40001, ("job-worker-1", 2222): 40002, ("job-worker-10", 2222): 40003}
    return Rewriter(services, "job-master-0", frozenset({23456, 2222}), lambda name, port: replaced[name, port])


@pytest.mark.parametrize(
    ("env", "changed"),
    [
        ({"MASTER_ADDR": "job-master-0", "MASTER_PORT": "23456"}, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "40001"}),
        ({"PET_RDZV_ENDPOINT": "job-master-0:23456"}, {"PET_RDZV_ENDPOINT": "127.0.0.1:40001"}),
        ({"MASTER_ADDR": "localhost", "MASTER_PORT": "23456"}, {"MASTER_PORT": "40001"}),
        ({"OTHER_PORT": "80", "WORLD_SIZE": "23456"}, {}),
        ({"X": "job-master-0.team.svc.cluster.local:80"}, {"X": "127.0.0.1:80"}),
        ({"X": "job-master-0.elsewhere my-job-master-0 job-master-0-a job-master-01"}, {}),
        (
            {"TF_CONFIG": '{"worker": ["job-worker-1.team.svc:2222", "job-worker-10.team.svc:2222"]}'},
            {"TF_CONFIG": '{"worker": ["127.0.0.1:40002", "127.0.0.1:40003"]}'},
        ),
    ],
)
def test_host_mode_replaces_names_and_ports(env: dict[str, str], changed: dict[str, str]) -> None:
    rewritten = rewriter().rewrite([], env, env, {})
    assert rewritten.env == env | changed
    assert len(rewritten.changes) == len(changed)


def test_host_mode_replaces_the_names_of_pods_behind_a_headless_service() -> None:
    def free_port(name: str, port: int) -> int:
        return {"job-node-0-0.job": 40001, "job-node-0-1.job": 40002}[name] if port == 29500 else port

    services = [
        Service("team", "job", {}, publish_unready=True, headless=True),
        Service("team", "balanced", {}, publish_unready=False, headless=False),
    ]
    env = {
        "MASTER_ADDR": "job-node-0-0.job",
        "MASTER_PORT": "29500",
        "DMLC_TRACKER_URI": "job-node-0-0.job",
        "DMLC_TRACKER_PORT": "29500",
        "PEERS": "job-node-0-0.job.team.svc:29500,job-node-0-1.job:29500",
        "OTHERS": "www.balanced job-node-0-0.job-2",
    }
    rewritten = Rewriter(services, "job-node-0-1.job", frozenset({29500}), free_port).rewrite([], env, env, {})
    assert rewritten.env == {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "40001",
        "DMLC_TRACKER_URI": "127.0.0.1",
        "DMLC_TRACKER_PORT": "40001",
        "PEERS": "127.0.0.1:40001,127.0.0.1:40002",
        "OTHERS": env["OTHERS"],
    }


def test_host_mode_replaces_in_arguments_and_leaves_the_rest() -> None:
    env = {"POD_NAME": "job-master-0"}
    argv = ["torchrun", "--master-addr=job-master-0", "/data/train.py", "--out", "/database"]
    rewritten = rewriter().rewrite(argv, env, (), {"/data": "/somewhere/v"})
    assert rewritten.argv == ["torchrun", "--master-addr=127.0.0.1", "/somewhere/v/train.py", "--out", "/database"]
    assert rewritten.env == env


def test_a_pod_that_cannot_be_understood_names_the_field() -> None:
    body = pod("p", "true")
    body["spec"]["containers"][0]["command"] = "true"
    with pytest.raises(ValueError, match=r"\$\.spec\.containers\[0\]\.command"):
        parsed(body)
