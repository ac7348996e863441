"""kubectl of every version where a node is needed: `make e2e PROVIDER=local`.

The control plane that sessions are recorded with has none; expected is what a kubelet does.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable

import pytest
import yaml
from e2e.harness.binaries import KUBECTLS
from e2e.harness.local_up import LocalUp
from e2e.support import marks
from e2e.support.profiles import often

pytestmark = marks.local  # pods must run

Kubectl = Callable[..., subprocess.CompletedProcess[str]]
ONCE = "echo run $(ls /talk); test -e /talk/again && sleep 600; touch /talk/again; exit 3"


def _container(name: str, script: str) -> dict[str, object]:
    mounts = [{"name": "work", "mountPath": "/talk"}]
    return {"name": name, "image": "example.com/x:1", "command": ["sh", "-c", script], "volumeMounts": mounts}


TALKER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "talker", "labels": {"app": "talk"}},
    "spec": {
        "volumes": [{"name": "work", "emptyDir": {}}],
        "initContainers": [_container("before", "echo first")],
        "containers": [
            _container("main", "echo one; echo two; echo three; sleep 600"),
            _container("second", ONCE),
        ],
    },
}
COUNTER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "counter"},
    "spec": {
        "restartPolicy": "Never",
        "volumes": [{"name": "work", "emptyDir": {}}],
        "containers": [_container("main", "for i in 1 2 3; do echo $i; sleep 0.3; done; exit 7")],
    },
}


@pytest.fixture(scope="module", params=often(KUBECTLS, [*KUBECTLS][-1]))
def kubectl(request: pytest.FixtureRequest, cluster_up: LocalUp, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Run kubectl of one version in a namespace of its own, with both pods."""
    cache = tmp_path_factory.mktemp("cache")
    namespace = f"kubectl-1-{request.param}"

    def run(command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        options = (f"--cache-dir={cache}", f"--namespace={namespace}")
        words = cluster_up.kubectl(*options, *command.split(), program=KUBECTLS[request.param])
        return subprocess.run(words, input=stdin, capture_output=True, text=True, check=False, timeout=60)

    assert run(f"create namespace {namespace}").returncode == 0
    assert run("apply -f -", yaml.safe_dump_all([TALKER, COUNTER])).returncode == 0
    waited = run("wait --for=condition=Ready pod/talker --timeout=30s")
    assert waited.stdout == "pod/talker condition met\n", waited.stderr
    waited = run("wait --for=jsonpath={.status.containerStatuses[1].restartCount}=1 pod/talker --timeout=30s")
    assert waited.returncode == 0, waited.stderr
    return run


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("logs talker -c main", "one\ntwo\nthree\n"),
        ("logs talker -c before", "first\n"),
        ("logs talker -c main --tail=1", "three\n"),
        ("logs talker -c main --tail=0", ""),
        ("logs talker -c main --since=1h", "one\ntwo\nthree\n"),
        ("logs talker -c main --since-time=2100-01-01T00:00:00Z", ""),
        ("logs talker -c main --limit-bytes=5", "one\nt"),
        ("logs talker -c second", "run again\n"),
        ("logs talker -c second -p", "run\n"),
        ("logs -l app=talk -c main", "one\ntwo\nthree\n"),
        ("logs -l app=talk -c main --prefix --tail=1", "[pod/talker/main] three\n"),
        ("logs -l app=nothing", ""),
        ("logs counter -f", "1\n2\n3\n"),
    ],
)
def test_logs(kubectl: Kubectl, command: str, output: str) -> None:
    done = kubectl(command)
    assert (done.stdout, done.returncode) == (output, 0), done.stderr


def test_logs_of_all_containers(kubectl: Kubectl) -> None:
    done = kubectl("logs talker --all-containers")
    # kubectl keeps its requests in a Go map: which container comes first is chance.
    assert sorted(done.stdout.splitlines()) == ["first", "one", "run again", "three", "two"]
    assert done.stdout.index("one\n") < done.stdout.index("two\n") < done.stdout.index("three\n")


def test_logs_with_times(kubectl: Kubectl) -> None:
    lines = kubectl("logs talker -c main --timestamps").stdout.splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ", "", line) for line in lines] == ["one", "two", "three"]


def test_logs_of_what_is_not_there(kubectl: Kubectl) -> None:
    for command, words in (
        ("logs talker -c absent", "container absent is not valid for pod talker"),
        ("logs absent", 'pods "absent" not found'),
        ("logs talker -c main -p", 'previous terminated container "main" in pod "talker" not found'),
    ):
        done = kubectl(command)
        assert done.returncode == 1
        assert words in done.stderr


def test_the_first_container_is_the_default(kubectl: Kubectl) -> None:
    done = kubectl("logs talker")
    assert done.stdout == "one\ntwo\nthree\n"
    assert 'Defaulted container "main" out of: main, second, before (init)' in done.stderr


def test_what_get_and_describe_say_of_a_running_pod(kubectl: Kubectl) -> None:
    kubectl("wait --for=jsonpath={.status.phase}=Failed pod/counter --timeout=30s")
    rows = {row.split()[0]: row.split() for row in kubectl("get pods -o wide").stdout.splitlines()}
    assert rows["NAME"][:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert rows["talker"][1:4] == ["2/2", "Running", "1"]
    assert rows["talker"][-3] == "local"
    assert rows["counter"][1:3] == ["0/1", "Error"]
    described = kubectl("describe pod counter").stdout
    for words in (r"Exit Code: +7", r"Reason: +Error", r"Normal +Started", r"Node: +local/"):
        assert re.search(words, described), (words, described)
    events = kubectl("events --for pod/talker").stdout
    assert "Started" in events
    assert "counter" not in events


def test_the_node(kubectl: Kubectl) -> None:
    heading, row = kubectl("get nodes").stdout.splitlines()
    assert heading.split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert row.split()[:2] == ["local", "Ready"]
    described = kubectl("describe node local")
    assert described.returncode == 0, described.stderr
    for words in ("Capacity:", "Non-terminated Pods:", "Allocated resources:", "talker"):
        assert words in described.stdout


def test_changes_of_a_running_pod_are_seen(kubectl: Kubectl) -> None:
    pod = json.loads(kubectl("get pod talker -o json").stdout)
    short = {**COUNTER, "metadata": {"name": "short"}}
    assert kubectl("create -f -", json.dumps(short)).stdout == "pod/short created\n"
    done = kubectl("delete pod short --grace-period=1")
    assert done.stdout.startswith('pod "short" deleted')
    assert kubectl("wait --for=delete pod/short --timeout=20s").returncode == 0
    assert kubectl("get pod short").stderr == 'Error from server (NotFound): pods "short" not found\n'
    assert pod["status"]["podIP"]
