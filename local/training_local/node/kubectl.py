"""A stand-in for `kubectl exec` inside pods, with the rights of the pod's service account; a program of its own."""

from __future__ import annotations

import asyncio
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


async def run(call: Call) -> int:
    """Execute what is asked for and return its exit status; raises `ExecError`, `OSError`, `KeyError`."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    namespace = call.namespace or (ACCOUNT / "namespace").read_text()
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ACCOUNT / "ca.crt"))
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        execution = Execution(namespace, call.pod, call.container, call.command, call.stdin)
        return await execute(session, f"https://{host}:{port}", execution)


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
