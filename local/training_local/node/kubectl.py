"""A stand-in for `kubectl exec` inside pods, with the rights of the pod's service account.

Runs as a program of its own with the standard library only, and imports little: an mpirun starts one for each host at
once. It speaks WebSocket (RFC 6455) with the channels of `v5.channel.k8s.io` (KEP-4006).
"""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import ssl
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
USAGE = "usage: kubectl exec [-n NAMESPACE] POD [-c CONTAINER] [-i] [-q] -- COMMAND [ARGUMENT...]"
CONNECT_SECONDS = 30.0

_PROTOCOL = "v5.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE = 0, 1, 2, 3, 255
_CONTINUED, _TEXT, _BINARY, _BYE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_BLOCK = 1 << 15
_PATIENCE = 1 << 20
"""Bytes that may wait to be sent before standard input is no longer read."""
_OPTIONS = {"-c": "container", "--container": "container", "-n": "namespace", "--namespace": "namespace"}
_SWITCHES = {"-i": "stdin", "--stdin": "stdin", "-q": "quiet", "--quiet": "quiet"}


class Failure(Exception):
    """The command could not be executed; the text says why."""


class Call(NamedTuple):
    """What the command line asks for."""

    pod: str
    command: Sequence[str]
    namespace: str = ""
    container: str = ""
    stdin: bool = False


def parse(arguments: Sequence[str]) -> Call:
    """Read a command line without the name of the program; raises `Failure`."""
    own, command = _split(arguments)
    if not own or own[0] != "exec":
        raise Failure(f"inside pods of a local cluster kubectl knows exec only, not {' '.join(own[:1]) or 'nothing'}")
    values: dict[str, str] = {}
    switches: set[str] = set()
    names: list[str] = []
    rest = iter(own[1:])
    for argument in rest:
        option, equals, value = argument.partition("=")
        if option in _OPTIONS:
            values[_OPTIONS[option]] = value if equals else next(rest, "")
        elif argument in _SWITCHES:
            switches.add(_SWITCHES[argument])
        elif argument.startswith("-"):
            raise Failure(f"unknown option {argument}\n{USAGE}")
        else:
            names.append(argument.removeprefix("pod/").removeprefix("pods/"))
    if len(names) != 1 or not command:
        raise Failure(USAGE)
    return Call(names[0], command, stdin="stdin" in switches, **values)


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def connect(path: str) -> ssl.SSLSocket:
    """Connect with the API server and change over to WebSocket; raises `Failure`, `OSError`."""
    token = _read(f"{ACCOUNT}/token")
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.load_verify_locations(f"{ACCOUNT}/ca.crt")
    plain = socket.create_connection((host, port), CONNECT_SECONDS)
    connection = trust.wrap_socket(plain, server_hostname=host)
    fields = (
        f"GET {path} HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {token}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        f"Sec-WebSocket-Protocol: {_PROTOCOL}",
    )
    connection.sendall(("\r\n".join(fields) + "\r\n\r\n").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)  # nothing of what follows the head may be read with it
        if not byte:
            raise Failure("the API server has hung up")
        head += byte
    if head.split()[1] != b"101":
        connection.settimeout(1.0)
        raise Failure(_refusal(connection))
    return connection


def _refusal(connection: ssl.SSLSocket) -> str:
    body = b""
    try:
        while b"\n" not in body and (part := connection.recv(_BLOCK)):
            body += part
            return _explain(json.loads(body))
    except (OSError, ValueError):
        pass
    return body.decode(errors="replace") or "the API server has refused without a word"


def _explain(status: dict[str, str]) -> str:
    reason = f" ({status['reason']})" if status.get("reason") else ""
    return f"Error from server{reason}: {status.get('message', '')}"


def _read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123 - pathlib would add a third to the time of the start
        return file.read()


def address(call: Call) -> str:
    """Return the path and query of the request."""
    namespace = call.namespace or _read(f"{ACCOUNT}/namespace")
    query = [("command", part) for part in call.command] + [("stdout", "true"), ("stderr", "true")]
    query += [("container", call.container)] * bool(call.container) + [("stdin", "true")] * call.stdin
    pod = f"/api/v1/namespaces/{_quoted(namespace)}/pods/{_quoted(call.pod)}"
    return f"{pod}/exec?{'&'.join(f'{key}={_quoted(value)}' for key, value in query)}"


def _quoted(text: str) -> str:
    """Escape a text as part of a URL; what came from the command line undecoded stays what it was."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}" for byte in os.fsencode(text))


def frame(kind: int, data: bytes) -> bytes:
    """Return a whole message as a client sends it."""
    size = len(data)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    return head + bytes(4) + data  # a mask of zeros: it protects old proxies, of which there are none here


class Frames:
    """Puts what arrives together to frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bool, bytes]]:
        """Take data; yield kind, whether it ends its message, and content of every frame that is complete."""
        self._buffer += data
        while len(self._buffer) >= 2:
            first, size = self._buffer[0], self._buffer[1] & 0x7F
            start = 2 + {126: 2, 127: 8}.get(size, 0)
            if len(self._buffer) < start:
                return
            if size > 125:
                size = int.from_bytes(self._buffer[2:start], "big")
            if len(self._buffer) < start + size:
                return
            content = bytes(self._buffer[start : start + size])
            del self._buffer[: start + size]
            yield first & 0x0F, bool(first & 0x80), content


class Conversation:
    """The streams of an execution until it has ended."""

    def __init__(self, connection: ssl.SSLSocket, stdin: int | None) -> None:
        self._connection, self._stdin = connection, stdin
        self._outbox = bytearray()
        self._frames = Frames()
        self._message = b""
        self._status: dict[str, object] | None = None
        self._over = False
        connection.setblocking(False)

    def run(self) -> dict[str, object]:
        """Pass everything on; return the Status of the end. Raises `Failure` if there is none."""
        while True:
            self._receive()  # first: what came together with the head of the answer no select would tell
            if self._over:
                break
            self._send()
            inputs: list[ssl.SSLSocket | int] = [self._connection]
            if self._stdin is not None and len(self._outbox) < _PATIENCE:
                inputs.append(self._stdin)
            readable, _, _ = select.select(inputs, [self._connection] if self._outbox else [], [])
            if self._stdin is not None and self._stdin in readable:
                self._hear(self._stdin)
        if self._status is None:
            raise Failure("the API server has hung up before the command had ended")
        return self._status

    def _hear(self, stdin: int) -> None:
        data = os.read(stdin, _BLOCK)
        if data:
            self._outbox += frame(_BINARY, bytes((_STDIN,)) + data)
        else:
            self._stdin = None
            self._outbox += frame(_BINARY, bytes((_CLOSE, _STDIN)))

    def _send(self) -> None:
        try:
            while self._outbox:
                del self._outbox[: self._connection.send(self._outbox)]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return

    def _receive(self) -> None:
        while not self._over:
            try:
                data = self._connection.recv(_BLOCK)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError as error:
                raise Failure(f"the connection with the API server is lost: {error}") from error
            self._over = not data
            for kind, last, content in self._frames.feed(data):
                self._take(kind, last, content)

    def _take(self, kind: int, last: bool, content: bytes) -> None:
        if kind == _PING:
            self._outbox += frame(_PONG, content)
        elif kind == _BYE:
            self._over = True
        elif kind in (_CONTINUED, _TEXT, _BINARY):
            self._message += content
            if last and self._message:
                self._show(self._message[0], self._message[1:])
                self._message = b""

    def _show(self, channel: int, data: bytes) -> None:
        if channel in (_STDOUT, _STDERR):
            while data:
                data = data[os.write(channel, data) :]
        elif channel == _ERROR:
            self._status = json.loads(data)


def exit_status(status: dict[str, object]) -> int:
    """Return the exit status of the command; raises `Failure` if it could not be executed."""
    if status.get("status") == "Success":
        return 0
    details = status.get("details")
    for cause in details.get("causes") or () if isinstance(details, dict) else ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise Failure(_explain({key: str(value) for key, value in status.items()}))


def main(arguments: Sequence[str]) -> int:
    """Execute a command in another pod; return its exit status, or 1 if it could not be executed."""
    try:
        call = parse(arguments)
        connection = connect(address(call))
        code = exit_status(Conversation(connection, 0 if call.stdin else None).run())
    except (Failure, OSError, KeyError) as error:
        text = f"variable {error} is not set: the pod does not reach the API server"
        print(f"kubectl: {text if isinstance(error, KeyError) else error}", file=sys.stderr)
        return 1
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the interpreter's own end takes longer than the rest


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
