"""Pods and the API server: how they reach it, with which rights, and what they cannot do."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import (
    DEFAULT,
    Api,
    Cluster,
    cluster_in,
    needs_namespaces,
    parent,
    processes_with,
    seconds,
)

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.http import answering
from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.apiserver.users import Tokens
from training_local.node import kubectl, kubectl_delivery
from training_local.node.hosts import API_NAMES
from training_local.node.network import API_ADDRESS

OWNER = "the-owner's"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
MODES = [pytest.param("netns", marks=needs_namespaces), "host"]
FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"

ASK = f"""
import os, socket, ssl, sys
folder = {FOLDER!r}
trust = ssl.create_default_context(cafile=folder + "/ca.crt")
host = os.environ["KUBERNETES_SERVICE_HOST"]
for token in sys.argv[2:] or [open(folder + "/token").read()]:
    plain = socket.create_connection((host, os.environ["KUBERNETES_SERVICE_PORT"]))
    with trust.wrap_socket(plain, server_hostname=host) as connection:
        lines = ["GET " + sys.argv[1] + " HTTP/1.0", "Host: " + host, "Authorization: Bearer " + token, "", ""]
        connection.sendall("\\r\\n".join(lines).encode())
        head, _, body = connection.makefile("rb").read().decode().partition("\\r\\n\\r\\n")
    print(head.split()[1], " ".join(body.split("\\n")))
"""


class RecordingEndpoint(InClusterEndpoint):
    """Remembers the sockets that it has been given."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.opened: list[socket.socket] = []

    async def open(self, listener: socket.socket) -> None:
        self.opened.append(listener)
        await super().open(listener)


class Reachable(Cluster):
    """A node whose pods reach the API server."""

    endpoint: RecordingEndpoint

    async def ask(self, name: str, path: str, *token: str, **spec: Any) -> tuple[int, dict[str, Any]]:
        """What a pod is answered."""
        await self.run(name, sys.executable, "-c", ASK, path, *token, **spec)
        status, _, body = (await self.log(name)).partition(" ")
        return int(status), json.loads(body)


@asynccontextmanager
async def reachable(state: Path, mode: str) -> AsyncIterator[Reachable]:
    identity = server_identity(["127.0.0.1", API_ADDRESS, *API_NAMES])
    async with Api().serving() as api:
        tokens = Tokens(OWNER, api.server.has)
        async with answering(api.server, tokens.account) as runner:
            endpoint = RecordingEndpoint(runner, identity, tokens)
            async with cluster_in(state, mode, api, endpoint) as made:
                api.server.attach_node(made.node)
                cluster = Reachable(api, made.node, state)
                cluster.endpoint = endpoint
                yield cluster


@pytest.fixture(params=MODES)
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Reachable]:
    async with reachable(tmp_path / "state", request.param) as running:
        yield running


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[Reachable]:
    async with reachable(tmp_path / "state", "netns") as running:
        yield running


async def grant(cluster: Cluster, name: str, *rules: dict[str, Any]) -> None:
    """Make a service account with these rights."""
    api = cluster.api
    await api.request("POST", f"{DEFAULT}/serviceaccounts", {"metadata": {"name": name}})
    await api.request("POST", f"{RBAC}/roles", {"metadata": {"name": name}, "rules": list(rules)})
    subject = {"kind": "ServiceAccount", "name": name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    await api.request(
        "POST", f"{RBAC}/rolebindings", {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}
    )


def enters(*names: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"], "resourceNames": list(names)}


def kubectl_exec(*arguments: str) -> list[str]:
    return [sys.executable, "-I", "-m", kubectl.__name__, "exec", *arguments]


async def test_a_pod_has_the_rights_of_its_service_account(cluster: Reachable) -> None:
    assert (await cluster.ask("version", "/version"))[0] == 200
    status, rejection = await cluster.ask("secrets", f"{DEFAULT}/secrets")
    assert (status, rejection["message"]) == (
        403,
        'secrets is forbidden: User "system:serviceaccount:default:default" cannot list resource "secrets" '
        'in API group "" in the namespace "default"',
    )
    await grant(cluster, "reader", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    status, listed = await cluster.ask("pods", f"{DEFAULT}/pods", serviceAccountName="reader")
    assert (status, len(listed["items"])) == (200, 3)
    assert "volumeMounts" not in listed["items"][0]["spec"]["containers"][0]


async def test_without_its_token_a_pod_can_do_nothing(cluster: Reachable) -> None:
    await cluster.run("stranger", sys.executable, "-c", ASK, "/version", "", "guessed", OWNER)
    assert [line.split()[0] for line in (await cluster.log("stranger")).splitlines()] == ["401"] * 3


async def test_a_token_ends_with_its_pod(cluster: Reachable) -> None:
    await cluster.start("brief", "sh", "-c", 'cat "$1/token"; echo; exec sleep 4817', "sh", FOLDER, says="\n")
    token = (await cluster.log("brief")).strip()
    assert (await cluster.ask("other", "/version", token))[0] == 200
    await cluster.api.remove("brief", 0)
    assert (await cluster.ask("late", "/version", token))[0] == 401


@pytest.mark.parametrize("unwanted", ["pod", "account"])
async def test_who_wants_no_token_gets_none(cluster: Reachable, unwanted: str) -> None:
    await cluster.api.request(
        "POST", f"{DEFAULT}/serviceaccounts", {"metadata": {"name": "mute"}, "automountServiceAccountToken": False}
    )
    wishes: dict[str, Any] = {"serviceAccountName": "mute"}
    if unwanted == "pod":
        wishes = {"automountServiceAccountToken": False}
    await cluster.run("mute", "test", "-e", FOLDER, **wishes)
    assert cluster.api.statuses("mute")[0]["state"]["terminated"]["exitCode"] == 1
    # The pod has the last word.
    wishes = {"automountServiceAccountToken": True, "serviceAccountName": "mute"}
    assert (await cluster.ask("spoken", "/version", **wishes))[0] == 200


async def test_an_account_that_is_missing_is_no_secret(cluster: Reachable) -> None:
    assert (await cluster.run("orphan", "true", serviceAccountName="nosuch"))["phase"] == "Succeeded"
    said = 'the pod gets no token: serviceaccount "nosuch" not found'
    await cluster.api.until(lambda: ("orphan", "Warning", "FailedMount", said) in cluster.api.events)


@needs_namespaces
async def test_the_files_are_for_their_owner_only(sandboxed: Reachable) -> None:
    script = """
import os, sys
for name in sorted(os.listdir(sys.argv[1])):
    print(name, oct(os.stat(os.path.join(sys.argv[1], name)).st_mode))
try:
    open(sys.argv[1] + "/token", "w")
except OSError as error:
    print(error.strerror)
"""
    await sandboxed.run("files", sys.executable, "-c", script, FOLDER)
    said = (await sandboxed.log("files")).splitlines()
    assert said == ["ca.crt 0o100600", "namespace 0o100600", "token 0o100600", "Read-only file system"]


@needs_namespaces
async def test_names_of_the_api_server_are_those_of_its_certificate(sandboxed: Reachable) -> None:
    script = f"import os\nfor name in {API_NAMES!r}: os.environ['KUBERNETES_SERVICE_HOST'] = name; exec({ASK!r})"
    await sandboxed.run("caller", sys.executable, "-c", script, "/version")
    assert [line.split()[0] for line in (await sandboxed.log("caller")).splitlines()] == ["200"] * len(API_NAMES)


@needs_namespaces
async def test_kubectl_exec_from_inside_a_pod(sandboxed: Reachable) -> None:
    await grant(sandboxed, "launcher", enters("worker", "absent"))
    for name in ("worker", "other"):
        await sandboxed.start(name, "sleep", "4818", job="red")

    async def launch(name: str, *command: str) -> tuple[int, str]:
        await sandboxed.run(name, *command, job="red", serviceAccountName="launcher")
        return sandboxed.api.statuses(name)[0]["state"]["terminated"]["exitCode"], await sandboxed.log(name)

    speak = kubectl_exec("worker", "--", "sh", "-c", 'echo "$HOSTNAME: $1"; echo oops >&2; exit 3', "sh", "ä & b%/+ c")
    code, said = await launch("speaks", *speak)
    assert code == 3
    assert sorted(said.splitlines()) == ["command terminated with exit code 3", "oops", "worker: ä & b%/+ c"]
    assert await launch("ends", *kubectl_exec("worker", "--container=main", "--", "true")) == (0, "")
    # Everything goes in and comes out while both sides are full, and the end of the input reaches the program.
    pipe = " ".join(kubectl_exec("-i", "worker", "--", "cat"))
    count = f"head -c 9000000 /dev/zero | {pipe} | wc -c"
    assert await launch("pipes", "sh", "-c", count) == (0, "9000000\n")
    code, said = await launch("denied", *kubectl_exec("other", "--", "true"))
    assert (code, said) == (
        1,
        'kubectl: Error from server (Forbidden): pods "other" is forbidden: User '
        '"system:serviceaccount:default:launcher" cannot create resource "pods/exec" in API group "" '
        'in the namespace "default"\n',
    )
    code, said = await launch("misses", *kubectl_exec("absent", "--", "true"))
    assert (code, said) == (1, 'kubectl: Error from server (NotFound): pods "absent" not found\n')
    code, said = await launch("unstartable", *kubectl_exec("worker", "--", "nosuch"))
    assert (code, "nosuch" in said) == (1, True)


@needs_namespaces
async def test_the_delivery_image_brings_kubectl(sandboxed: Reachable) -> None:
    await grant(sandboxed, "launcher", enters("worker"))
    await sandboxed.start("worker", "sleep", "4819")
    mount = [{"name": "kube", "mountPath": "/opt/kube"}]
    delivery = {
        "name": "kubectl-delivery",
        "image": "delivery",
        "command": list(kubectl_delivery.COMMAND),
        "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}],
        "volumeMounts": mount,
    }
    await sandboxed.run(
        "launcher",
        "sh",
        "-c",
        "/opt/kube/kubectl exec worker -- /bin/sh -c 'echo $HOSTNAME'",
        container={"volumeMounts": mount},
        initContainers=[delivery],
        volumes=[{"name": "kube", "emptyDir": {}}],
        serviceAccountName="launcher",
    )
    assert await sandboxed.log("launcher") == "worker\n"


@needs_namespaces
async def test_a_scope_leaves_no_socket(sandboxed: Reachable) -> None:
    for name in ("red", "blue"):
        await sandboxed.start(name, "sleep", "4820", job=name)
    listeners = sandboxed.endpoint.opened
    # Two sockets can have one address because their networks are two, and neither is the machine's.
    assert [each.getsockname() for each in listeners] == [(API_ADDRESS, 443)] * 2
    assert f"{int.from_bytes(socket.inet_aton(API_ADDRESS), sys.byteorder):08X}:01BB" not in listening()
    for name in ("red", "blue"):
        await sandboxed.api.remove(name, 1)
    assert [each.fileno() for each in listeners] == [-1, -1]


def listening() -> set[str]:
    """The local addresses of this machine's sockets, as the kernel writes them."""
    return {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()}


@needs_namespaces
async def test_a_scope_whose_supervisor_was_killed_gets_another_socket(sandboxed: Reachable) -> None:
    await sandboxed.start("again", "sleep", seconds(4821), restartPolicy="Always")
    (process,) = processes_with(f"sleep {seconds(4821)}")
    os.kill(parent(str(parent(process))), signal.SIGKILL)
    await sandboxed.api.until(lambda: sandboxed.api.statuses("again")[0].get("restartCount") == 1)
    await sandboxed.api.until(lambda: "running" in sandboxed.api.statuses("again")[0]["state"])
    assert [each.fileno() == -1 for each in sandboxed.endpoint.opened] == [True, False]


def test_what_kubectl_is_asked_for() -> None:
    call = kubectl.parse(["exec", "-n", "red", "pod/worker", "--container=main", "-i", "--", "sh", "-c", "-i"])
    assert call == kubectl.Call("worker", ["sh", "-c", "-i"], "red", "main", True)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("get pods", "inside pods of a local cluster kubectl supports only exec, not get"),
        ("", "inside pods of a local cluster kubectl supports only exec, not nothing"),
        ("exec worker", "usage: kubectl exec"),
        ("exec -- true", "usage: kubectl exec"),
        ("exec a b -- true", "usage: kubectl exec"),
        ("exec worker -t -- true", "unknown option -t"),
    ],
)
def test_what_kubectl_does_not_know(line: str, sentence: str) -> None:
    with pytest.raises(kubectl.Failure, match=sentence):
        kubectl.parse(line.split())
