"""`python -m e2e.bench.hostile.probe URL PID`: asks the operator's probe all the time, until its input ends.

What holds up the answer holds up everything. Beside it a program is asked that does nothing else: what that one takes,
the machine takes. It is a process of its own, so that nothing but the machine holds it up; it prints the longest times.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

BEAT = 0.005
"""Seconds between two looks."""


def main(url: str, pid: str) -> None:
    """Look, then print."""
    address, idle = urlsplit(url), _idle_program()
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)

    def ask_operator() -> None:
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection.close()  # whether it has ended sees whoever started it

    def ask_idle() -> None:
        idle.sendall(b"?")
        idle.recv(1)

    longest = dict.fromkeys(("stall_ms", "apart_ms", "computing_ms", "idle_ms"), 0.0)
    while not select.select([sys.stdin], [], [], BEAT)[0]:
        before, here = _times(pid), _times("self")
        stall = _milliseconds(ask_operator)
        after, here_after = _times(pid), _times("self")
        took = {
            "stall_ms": stall,
            "apart_ms": stall - (after[1] - before[1]) - (here_after[1] - here[1]),
            "computing_ms": after[0] - before[0],
            "idle_ms": _milliseconds(ask_idle),
        }
        longest = {name: max(most, took[name]) for name, most in longest.items()}
    print(json.dumps(longest))


def _milliseconds(ask: Callable[[], None]) -> float:
    begun = time.perf_counter()
    ask()
    return (time.perf_counter() - begun) * 1000


def _times(pid: str) -> tuple[float, float]:
    """For how many milliseconds a process's main thread has computed, and waited for a processor."""
    try:
        computed, waited = Path(f"/proc/{pid}/schedstat").read_text().split()[:2]
    except OSError:
        return 0.0, 0.0  # it has ended
    return int(computed) / 1e6, int(waited) / 1e6


def _idle_program() -> socket.socket:
    """A process that answers each byte; it ends with this one."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    while theirs.recv(1):
        theirs.sendall(b"!")
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
