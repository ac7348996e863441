"""Programs that clients start in running containers, over the protocol of `kubectl exec`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
from e2e.support.local_node import Cluster, open_descriptors, over_https, pod, processes_with, seconds

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
SECONDS = seconds(4815)

ALL = {"stdin": "true", "stdout": "true", "stderr": "true"}


class Client:
    """What sends requests over HTTPS."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    def url(self, name: str, *command: str, **query: str) -> str:
        pairs = "&".join(f"{key}={value}" for key, value in query.items())
        return f"/api/v1/namespaces/default/pods/{name}/exec?" + "&".join([*(f"command={c}" for c in command), pairs])

    @asynccontextmanager
    async def connected(self, url: str, *protocols: str) -> AsyncIterator[Connection]:
        async with self.session.ws_connect(url, protocols=protocols or (V5,), max_msg_size=0) as socket:
            yield Connection(socket)

    async def run(self, name: str, *command: str, protocol: str = V5, **query: str) -> Connection:
        url = self.url(name, *command, **(query or {"stdout": "true", "stderr": "true"}))
        async with self.connected(url, protocol) as connection:
            await connection.until_ended()
        return connection


class Connection:
    """A client's end of an execution, with all that has come so far."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.received = {STDOUT: b"", STDERR: b"", ERROR: b""}
        self.messages: list[bytes] = []

    async def send(self, channel: int, data: bytes) -> None:
        await self.socket.send_bytes(bytes((channel,)) + data)

    async def receive(self) -> bool:
        message = await self.socket.receive(timeout=20)
        if message.type is not aiohttp.WSMsgType.BINARY:
            return False
        self.messages.append(message.data)
        self.received[message.data[0]] += message.data[1:]
        return True

    async def until(self, text: bytes, channel: int = STDOUT) -> None:
        while text not in self.received[channel]:
            assert await self.receive(), self.received

    async def until_ended(self) -> None:
        while await self.receive():
            pass

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.received[ERROR])
        return found


@asynccontextmanager
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with over_https(cluster) as (session, _, _):
        yield Client(session)


async def box(cluster: Cluster, **changes: Any) -> None:
    container = {"env": [{"name": "GREETING", "value": "hello"}], "workingDir": "/usr", **changes}
    await cluster.start("box", "sleep", SECONDS, container=container, job="red")


async def test_streams_environment_and_exit_status(cluster: Cluster) -> None:
    await box(cluster)
    async with client(cluster) as c:
        ok = await c.run("box", "sh", "-c", "echo $GREETING $HOSTNAME; pwd; echo oops >%262")
        assert ok.received[STDOUT].decode().split() == ["hello", "box", "/usr"]
        assert ok.received[STDERR] == b"oops\n"
        assert ok.status == {"metadata": {}, "status": "Success"}
        assert ok.messages[0] == bytes((STDOUT,))  # shows the client that it is connected
        failed = (await c.run("box", "sh", "-c", "exit 3", protocol=V4)).status
        assert (failed["status"], failed["reason"]) == ("Failure", "NonZeroExitCode")
        assert failed["details"] == {"causes": [{"reason": "ExitCode", "message": "3"}]}
        killed = (await c.run("box", "sh", "-c", "kill -9 $$")).status
        assert killed["details"]["causes"][0]["message"] == "137"
        missing = (await c.run("box", "nosuch")).status
        expected = 'error executing command in container: exec: "nosuch": executable file not found in $PATH'
        assert (missing["code"], missing["message"]) == (500, f"Internal error occurred: {expected}")


async def test_bytes_go_both_ways_and_input_ends(cluster: Cluster) -> None:
    await box(cluster)
    data = os.urandom(3 << 20)
    async with client(cluster) as c, c.connected(c.url("box", "cat", **ALL)) as connection:
        for offset in range(0, len(data), 1 << 16):
            await connection.send(STDIN, data[offset : offset + (1 << 16)])
        await connection.send(CLOSE, bytes((STDIN,)))
        await connection.until_ended()
        assert connection.received[STDOUT] == data
        assert connection.status["status"] == "Success"
        # Input that is not read must not delay the end.
        async with c.connected(c.url("box", "true", **ALL)) as deaf:
            await deaf.send(STDIN, data[: 1 << 20])
            await deaf.until_ended()
            assert deaf.status["status"] == "Success"


async def test_a_terminal(cluster: Cluster) -> None:
    await box(cluster)
    async with client(cluster) as c, c.connected(c.url("box", "sh", **ALL, tty="true")) as connection:
        await connection.send(RESIZE, b'{"Width":101,"Height":40}')
        await connection.send(RESIZE, b'{"Width":1')  # passed over
        await connection.send(STDIN, b"until [ \"$(stty size)\" = '40 101' ]; do :; done; stty size; tty\n")
        await connection.until(b"\n/dev/pts/")
        assert b"40 101\r\n" in connection.received[STDOUT]
        await connection.send(STDIN, b"echo $TERM; trap 'echo caught; exit 6' INT; cat\n")
        await connection.until(b"xterm\r\n")
        await connection.send(STDIN, b"ping\n")
        await connection.until(b"ping\r\nping\r\n")  # the terminal's echo, and what cat prints
        await connection.send(STDIN, b"\x03")
        await connection.until_ended()
        assert connection.status["details"]["causes"][0]["message"] == "6"
        assert b"caught" in connection.received[STDOUT]


async def test_programs_see_the_container_and_end_with_it(cluster: Cluster) -> None:
    await box(cluster)
    async with client(cluster) as c:
        url = c.url("box", "sh", "-c", f"setsid sleep 1{SECONDS} %26 echo up; wait", stdout="true")
        async with c.connected(url) as connection:
            await connection.until(b"up")
            await cluster.api.remove("box", grace=0)
            await connection.until_ended()
    assert not processes_with(f"sleep {SECONDS}")
    assert not processes_with(f"sleep 1{SECONDS}")


async def test_a_program_of_shared_processes_ends_with_its_container(sandboxed: Cluster) -> None:
    body = pod("open", "sh", "-c", "until [ -e /dev/shm/end ]; do sleep 0.02; done", shareProcessNamespace=True)
    body["spec"]["containers"].append({"name": "other", "image": "none", "command": ["sleep", "60"]})
    await sandboxed.api.create("pods", body)
    await sandboxed.api.running("open")
    async with client(sandboxed) as c:
        url = c.url("open", "sh", "-c", "echo up; sleep 4818", container="main", stdout="true")
        async with c.connected(url) as connection:
            await connection.until(b"up")
            await c.run("open", "touch", "/dev/shm/end", container="other", stdout="true")
            await connection.until_ended()
            assert connection.status["details"]["causes"][0]["message"] == "137"
    await sandboxed.api.remove("open", grace=0)


async def test_inside_the_sandbox(sandboxed: Cluster) -> None:
    await box(sandboxed)
    async with client(sandboxed) as c:
        script = "readlink /proc/1/exe; hostname; ls /proc | grep -c '^[0-9]'; grep -c eth0 /proc/net/dev; ls /dev/pts"
        said = (await c.run("box", "sh", "-c", script)).received[STDOUT].decode().split()
        assert said[0].endswith("sleep") or said[0].endswith("busybox") or "coreutils" in said[0]
        assert (said[1], said[3], said[4:]) == ("box", "1", ["ptmx"])
        assert int(said[2]) <= 5
        mounting = await c.run("box", "sh", "-c", "mount -t tmpfs none /mnt; grep NoNewPrivs /proc/self/status")
        assert mounting.received[STDOUT].split()[-1] == b"1"
        assert mounting.received[STDERR]


async def rejected(c: Client, url: str, *protocols: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", **headers}
    offered = {"Sec-WebSocket-Protocol": ", ".join(protocols), "Sec-WebSocket-Version": "13"}
    wanted = {key: value for key, value in {**upgrade, **offered}.items() if value}
    async with c.session.request(method, url, headers=wanted) as answer:
        status = await answer.json()
        assert status["kind"] == "Status"
        return answer.status, status["message"]


async def test_requests_rejected_before_the_upgrade(on_host: Cluster) -> None:
    await box(on_host)
    await on_host.run("over", "true")
    async with client(on_host) as c:
        ok, wanted = c.url("box", "true", stdout="true"), {"stdout": "true"}
        for url, expected in (
            (c.url("absent", "true", **wanted), (404, 'pods "absent" not found')),
            (c.url("box", "true", container="x", **wanted), (400, "container x is not valid for pod box")),
            (c.url("box", "true"), (400, "you must specify at least 1 of stdin, stdout, stderr")),
        ):
            assert await rejected(c, url, V4) == expected
        assert (await rejected(c, c.url("box", **wanted), V4))[0] == 400
        assert await rejected(c, ok, Upgrade="", Connection="") == (400, "Upgrade request required")
        assert await rejected(c, ok, method="POST", Upgrade="", Connection="") == (400, "Upgrade request required")
        spdy = await rejected(c, ok, method="POST", Upgrade="SPDY/3.1")
        assert spdy[0] == 400
        assert "over WebSocket only" in spdy[1]
        assert "unable to negotiate" in (await rejected(c, ok, "v3.channel.k8s.io"))[1]
        no_attach = await rejected(c, ok.replace("/exec?", "/attach?"), method="POST", Upgrade="SPDY/3.1")
        assert no_attach[0] == 400
        assert "this server has no attach: `kubectl logs -f` shows the output" in no_attach[1]
        gone = 'Internal error occurred: unable to upgrade connection: container not found ("main")'
        assert await rejected(c, c.url("over", "true", **wanted), V4) == (500, gone)
        assert (await c.run("over", "true")).status["message"] == gone
        async with c.session.get(ok, headers={"Authorization": "Bearer no"}) as answer:
            assert answer.status == 401


async def test_a_client_that_leaves_takes_its_streams_and_not_its_program(on_host: Cluster) -> None:
    await box(on_host)
    async with client(on_host) as c:
        await c.run("box", "true")
        before = open_descriptors()
        script = "echo up; cat; echo end > $TMPDIR/end"
        async with c.connected(c.url("box", "sh", "-c", script, **ALL)) as connection:
            await connection.until(b"up")
        waiting = await c.run("box", "sh", "-c", "until [ -e $TMPDIR/end ]; do sleep 0.02; done")
        assert waiting.status["status"] == "Success"
        async with asyncio.timeout(20):
            while open_descriptors() > before:  # noqa: ASYNC110 - no event reports that a descriptor is closed
                await asyncio.sleep(0)  # the transports are closed in the next rounds of the loop


async def test_a_server_that_leaves_ends_its_connections(on_host: Cluster) -> None:
    await box(on_host)
    async with AsyncExitStack() as connections, client(on_host) as c:
        url = c.url("box", "sh", "-c", "echo up; exec sleep 60", **ALL)
        connection = await connections.enter_async_context(c.connected(url))
        await connection.until(b"up")
