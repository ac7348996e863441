"""The operator as users start it: a process of its own."""

from __future__ import annotations

import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.errors import HarnessError
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child

PROGRAM = Path(sys.executable).with_name("training-operator")
"""The command of the virtual environment that runs the tests."""
START_LIMIT = 30.0
"""Seconds until the operator must be ready."""


class Operator:
    """A running `training-operator run`, and the addresses of its probes and metrics."""

    def __init__(self, kubeconfig: Path, log: Path, *flags: str, program: Sequence[str | Path] = (PROGRAM,)) -> None:
        probes, metrics = free_ports(2)
        self.probes = f"http://127.0.0.1:{probes}"
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"
        self.child = Child(
            [
                *program,
                "run",
                f"--kubeconfig={kubeconfig}",
                f"--health-probe-bind-address=127.0.0.1:{probes}",
                f"--metrics-bind-address=127.0.0.1:{metrics}",
                *flags,
            ],
            log,
        )

    def wait_ready(self) -> None:
        """Return once the probe says ready; an operator that ends before raises with its log."""
        deadline = time.monotonic() + START_LIMIT
        while not self._ready():
            self.child.check_alive()
            if time.monotonic() > deadline:
                raise HarnessError(
                    f"the operator is not ready after {START_LIMIT:.0f} s:\n{self.child.output()[-4000:]}"
                )
            time.sleep(0.05)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.probes}/readyz", timeout=5):
                return True
        except OSError:
            return False


@contextmanager
def running_operator(kubeconfig: Path, log: Path, *flags: str) -> Iterator[Operator]:
    """An operator that is ready; at the end it must leave on SIGTERM with status 0."""
    operator = Operator(kubeconfig, log, *flags)
    try:
        operator.wait_ready()
        yield operator
    except BaseException:
        operator.child.kill()
        raise
    if (status := operator.child.stop()) != 0:
        raise HarnessError(f"the operator ended with status {status}:\n{operator.child.output()[-4000:]}")
