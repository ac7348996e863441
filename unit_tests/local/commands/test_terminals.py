"""What a person does at terminals: watches a job, reads its logs and enters its pods from another one."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e.support.little_job import little_job, write
from e2e.support.warm import Warm
from unit_tests.local.conftest import Local

from training_local.cluster.registry import STATE_VARIABLE

GREETING = 'echo "I am $HOSTNAME"; '
PATIENCE = 60.0


class Terminal:
    """A program at a terminal of its own, seen as a person sees it."""

    def __init__(self, arguments: Sequence[str], state: Path) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        streams: Any = {"stdin": slave, "stdout": slave, "stderr": slave}
        self.process = Warm(["local", *arguments], **streams, env=environment(state), start_new_session=True)
        self._slave = slave  # kept, so that its settings can be looked at afterwards
        self.seen = ""

    def until(self, text: str) -> None:
        """Read until `text` has been printed."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self._read()

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        """Read to the end of the program and return its exit status."""
        while self.process.poll() is None or select.select([self._master], [], [], 0)[0]:
            self._read()
        return self.process.returncode

    @property
    def cooked(self) -> bool:
        """Whether the terminal is as a shell wants it."""
        return bool(termios.tcgetattr(self._slave)[3] & termios.ICANON)

    def _read(self) -> None:
        if select.select([self._master], [], [], 0.2)[0]:
            self.seen += os.read(self._master, 1 << 16).decode(errors="replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)


def environment(state: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "SHELL", "COLUMNS", "LINES")}
    return {**kept, STATE_VARIABLE: str(state), "TERM": "xterm-256color", "SHELL": "/bin/sh"}


def answer(arguments: Sequence[str], state: Path, text: str = "") -> tuple[int, str, str]:
    streams: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = Warm(["local", *arguments], **streams, env=environment(state))
    out, err = process.communicate(text, PATIENCE)
    return process.returncode, out, err


@pytest.fixture
def state(state: Path) -> Iterator[Path]:
    """No cluster is left there."""
    yield state
    assert list(state.glob("clusters/[!.]*")) == []


@pytest.fixture
def watched(tmp_path: Path, state: Path) -> Iterator[Terminal]:
    """`local run` of a job of two replicas that go on, at a terminal."""
    job = little_job("sh", "-c", f"{GREETING} exec sleep 300")
    terminal = Terminal(["run", write(tmp_path, job)], state)
    try:
        for text in ("I am little-worker-0", "I am little-worker-1", "worker: 2 Running"):
            terminal.until(text)
        yield terminal
    finally:
        terminal.close()


def test_a_job_is_watched_read_entered_and_interrupted(watched: Terminal, state: Path, local: Local) -> None:
    status, out, err = local("logs")
    assert (status, err) == (0, "")
    assert sorted(out.splitlines()) == [f"worker-{n} | I am little-worker-{n}" for n in (0, 1)]
    said = answer(["shell", "little/worker-1"], state, "hostname; echo oops >&2; exit 7")
    assert said == (7, "little-worker-1\n", "oops\n")
    _enter_at_a_terminal(state)
    watched.process.send_signal(signal.SIGINT)
    assert watched.end() == 130
    left = watched.seen.rpartition("\x1b[?1049l")[2]  # what stands on the terminal afterwards
    assert "Interrupted: JAXJob default/little had not ended, it is Running: 2 Running." in left
    assert "JAXJob default/little  Running" in re.sub(r"\x1b\[[0-9;]*m", "", left)
    assert watched.cooked


def _enter_at_a_terminal(state: Path) -> None:
    shell = Terminal(["shell", "worker-0"], state)
    try:
        shell.until("# " if os.geteuid() == 0 else "$ ")
        assert not shell.cooked
        shell.type("stty size; hostname; exit 5\r")
        assert shell.end() == 5
        assert "24 80" in shell.seen
        assert "little-worker-0" in shell.seen
        assert shell.cooked
    finally:
        shell.close()


def test_logs_are_followed_to_the_end_of_the_job(tmp_path: Path, state: Path, local: Local) -> None:
    script = f"{GREETING} mkfifo /dev/shm/go; read line < /dev/shm/go; echo done"
    terminal = Terminal(["run", write(tmp_path, little_job("sh", "-c", script, workers=1))], state)
    try:
        terminal.until("I am little-worker-0")
        following = Warm(["local", "logs", "-f", "--json"], stdout=subprocess.PIPE, env=environment(state))
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["log"]["text"] == "I am little-worker-0"
        local("shell", "worker-0", "--", "sh", "-c", "echo > /dev/shm/go")
        rest = following.communicate(timeout=PATIENCE)[0]
        assert [json.loads(line)["log"]["text"] for line in rest.splitlines()] == ["done"]
        assert following.returncode == 0
        assert terminal.end() == 0
    finally:
        terminal.close()
