"""An operator that may use no more memory than the manifests give it, and how long its event loop stands still."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from e2e.harness.operator import PROGRAM, Operator
from e2e.support.paths import ROOT

from training_api.quantity import parse
from training_local.node.cgroups import Group, open_hierarchies

DEPLOYMENT = ROOT / "deploy" / "base" / "deployment.yaml"
ENTER = 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift; exec "$@"'
"""Enters control groups, then becomes another program."""
BEAT = 0.005
"""Seconds between two looks at the event loop."""


def shipped_limit() -> int:
    """Bytes of memory that the operator's container may use."""
    deployment = next(each for each in yaml.safe_load_all(DEPLOYMENT.read_text()) if each["kind"] == "Deployment")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return int(parse(container["resources"]["limits"]["memory"]))


@contextmanager
def memory_limited() -> Iterator[Group | None]:
    """A control group with that limit; None where this machine lets nobody make one."""
    hierarchies = open_hierarchies(f"hostile-{os.getpid()}")
    try:
        group = hierarchies.group("operator") if hierarchies.folders else None
        if group is not None:
            group.limit(shipped_limit(), None)
        yield group
    finally:
        hierarchies.close()


@contextmanager
def limited_operator(kubeconfig: Path, log: Path, group: Group | None, *flags: str) -> Iterator[Operator]:
    """An operator that is ready, inside of the group; it has to be alive at the end."""
    entrances = group.entrances if group is not None else ()
    operator = Operator(kubeconfig, log, *flags, program=("sh", "-c", ENTER, "sh", *entrances, "--", PROGRAM))
    try:
        operator.wait_ready()
        yield operator
        operator.child.check_alive()
    finally:
        operator.child.kill()


class Heartbeat(threading.Thread):
    """Asks the operator's probe all the time: what holds up the answer holds up everything."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(daemon=True)
        self._address, self._times = urlsplit(operator.probes), Path(f"/proc/{operator.child.pid}/schedstat")
        self._ended = threading.Event()
        self.longest_ms = 0.0
        """The longest wait for an answer, that for a processor included."""
        self.longest_cpu_ms = 0.0
        """The most that the operator's main thread computed while one answer was waited for."""

    def run(self) -> None:
        """Look until `end`."""
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=60)
        while not self._ended.wait(BEAT):
            begun, cpu = time.perf_counter(), self._cpu_ms()
            try:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - begun) * 1000)
            self.longest_cpu_ms = max(self.longest_cpu_ms, self._cpu_ms() - cpu)

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join()

    def _cpu_ms(self) -> float:
        try:
            return int(self._times.read_text().split()[0]) / 1e6
        except OSError:
            return 0.0  # it has ended, which whoever started it sees


@contextmanager
def heartbeat(operator: Operator) -> Iterator[Heartbeat]:
    """Look at the event loop inside of the context."""
    beating = Heartbeat(operator)
    beating.start()
    try:
        yield beating
    finally:
        beating.end()
