"""A stand-in for `kubectl exec` inside pods, with the rights of the pod's service account; a program of its own."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import aiohttp

from training_local.execution.client import ExecError, Execution, execute

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
USAGE: Final = "usage: kubectl exec [-n NAMESPACE] POD [-c CONTAINER] [-i] [-q] -- COMMAND [ARGUMENT...]"
_OPTIONS: Final = {"-c": "container", "--container": "container", "-n": "namespace", "--namespace": "namespace"}
_SWITCHES: Final = {"-i": "stdin", "--stdin": "stdin", "-q": "quiet", "--quiet": "quiet"}


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
        raise Failure(
            f"inside pods of a local cluster kubectl supports only exec, not {' '.join(own[:1]) or 'nothing'}"
        )
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


async def run(call: Call) -> int:
    """Execute what is asked for and return its exit status; raises `ExecError`, `OSError`, `KeyError`."""
    server = _server_of_kubeconfig() if "KUBERNETES_SERVICE_HOST" not in os.environ else _server_of_cluster()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=server.authority))
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        namespace = call.namespace or server.namespace
        execution = Execution(namespace, call.pod, call.container, call.command, call.stdin)
        return await execute(session, server.url, execution)


class _Server(NamedTuple):
    url: str
    token: str
    authority: str
    namespace: str


def _server_of_cluster() -> _Server:
    token, authority, namespace = ((ACCOUNT / name).read_text() for name in ("token", "ca.crt", "namespace"))
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return _Server(f"https://{host}:{port}", token, authority, namespace)


def _server_of_kubeconfig() -> _Server:
    """As the node writes it in host mode, where the folder is not at its place."""
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    cluster, token = config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return _Server(cluster["server"], token, authority, config["contexts"][0]["context"]["namespace"])


def main(arguments: Sequence[str]) -> int:
    """Execute a command in another pod; return its exit status, or 1 if it could not be executed."""
    try:
        code = asyncio.run(run(parse(arguments)))
    except ExecError as error:
        return _fail(f"Error from server{f' ({error.reason})' if error.reason else ''}: {error}")
    except KeyError as error:
        return _fail(f"variable {error} is not set: the pod does not reach the API server")
    except (Failure, OSError) as error:
        return _fail(str(error))
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    return code


def _fail(why: str) -> int:
    print(f"kubectl: {why}", file=sys.stderr)
    return 1


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the interpreter's own end takes longer than the rest


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
