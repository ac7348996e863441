"""The subresource `exec` of pods: a program inside a running container, over a connection that both sides use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from training_local.apiserver.errors import Json, bad_request
from training_local.apiserver.options import Query, flag
from training_local.apiserver.pods import chosen_container
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.state import State

OutputName = Literal["stdout", "stderr"]

UPGRADE_REQUIRED = "Upgrade request required"
"""What the real server says to a request that does not ask to leave HTTP."""


@dataclass(frozen=True, slots=True)
class ExecOptions:
    """What to execute where, and which streams the client wants (PodExecOptions)."""

    container: str
    command: Sequence[str]
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """Columns and lines of the client's terminal."""

    width: int
    height: int


class ExecStreams(Protocol):
    """The client's side of an execution."""

    def input(self) -> AsyncIterator[bytes]:
        """Yield what the client sends to standard input, until it says that there will be no more."""
        ...

    def sizes(self) -> AsyncIterator[TerminalSize]:
        """Yield every size of the client's terminal, for ever."""
        ...

    async def output(self, stream: OutputName, data: bytes) -> None:
        """Send what the program prints; waits while the client is slow. Raises `ConnectionError` if it has gone."""
        ...


Execution = Callable[[ExecStreams], Awaitable[int]]
"""Executes the program and returns its exit status; raises `ApiError` if it cannot be executed."""


class ExecSource(Protocol):
    """Whoever runs containers and can start further programs in them."""

    def execution(self, pod: Json, options: ExecOptions) -> Execution:
        """Return how to execute a program; raises `ApiError` at once if the container does not run."""
        ...


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A valid request, of which only the node knows whether it can be fulfilled."""

    pod: Json
    options: ExecOptions
    source: ExecSource


def exec_request(
    state: State, target: RequestInfo, query: Query, command: Sequence[str], source: ExecSource | None
) -> ExecRequest:
    """Read a request; raises `ApiError` for a pod without node, an unknown container, or nothing to execute.

    `command` is every value of the query parameter of this name.
    """
    pod = state.require(target.type, target.namespace, target.name).object()
    container = chosen_container(query, target.name, pod)
    if not pod["spec"].get("nodeName") or source is None:
        raise bad_request(f"pod {target.name} does not have a host assigned")
    tty = flag(query, "tty")
    options = ExecOptions(
        container=container,
        command=tuple(command),
        stdin=flag(query, "stdin"),
        stdout=flag(query, "stdout"),
        stderr=flag(query, "stderr") and not tty,  # a terminal has one output
        tty=tty,
    )
    if not options.command:
        raise bad_request("you must specify at least one query parameter `command`: the program and its arguments")
    if not (options.stdin or options.stdout or options.stderr):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    return ExecRequest(pod, options, source)


def ended(code: int, command: Sequence[str]) -> Json:
    """Return the Status that tells a client how its program has ended."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    how = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {how}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
