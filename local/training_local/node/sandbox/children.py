"""Starting a container's process from the supervisor, and hearing why it could not be started."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import termios
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from training_local.node.sandbox.messages import ContainerSpec, ExecSpec
from training_local.node.sandbox.orphans import OPEN_FILES

_STANDARD_STREAMS = (0, 1, 2)


class Child(NamedTuple):
    """A started process; `report` is empty at its end of file if the program was executed, else it says what failed."""

    pid: int
    report: int


def fork(
    prepare: Callable[[], None], spec: ContainerSpec | ExecSpec, streams: Sequence[int], *, terminal: bool = False
) -> Child:
    """Fork, run `prepare` in the child, and execute a program with `streams` as its input, output and error.

    With `terminal` the input is a terminal, which becomes the controlling one of the program's session.
    """
    report, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Child(pid, report)
    try:
        os.setsid()
        _connect(streams)
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        _enter_groups(spec.cgroups)
        prepare()
        _restore_defaults()
        _execute(spec)
    except BaseException as error:
        os.write(write, str(error).encode())
    os._exit(127)


def _enter_groups(entrances: Sequence[str]) -> None:
    """Put this process into control groups, as long as it sees them; 0 means the writer, whatever its number is."""
    for entrance in entrances:
        descriptor = os.open(entrance, os.O_WRONLY)
        try:
            os.write(descriptor, b"0")
        finally:
            os.close(descriptor)


def raise_descriptor_limit() -> None:
    """Allow this process as many descriptors as it may have: each pod keeps four open."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


_DESCRIPTOR_LIMITS = (int(os.environ[OPEN_FILES]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _connect(streams: Sequence[int]) -> None:
    for standard, descriptor in zip(_STANDARD_STREAMS, streams, strict=True):
        os.dup2(descriptor, standard)  # the copy is inheritable, the original is not


def _restore_defaults() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, _DESCRIPTOR_LIMITS)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _execute(spec: ContainerSpec | ExecSpec) -> None:
    try:
        os.chdir(spec.cwd)
    except OSError as error:
        raise OSError(f"working directory {spec.cwd}: {error.strerror}") from error
    program, env = spec.argv[0], dict(spec.env)
    try:
        os.execve(_find(program, env), list(spec.argv), env)
    except OSError as error:
        raise OSError(f'exec: "{program}": {error.strerror}') from error


def _find(program: str, env: Mapping[str, str]) -> str:
    if "/" in program:
        return program
    for directory in os.get_exec_path(env):
        path = f"{directory}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise OSError(2, "executable file not found in $PATH")
