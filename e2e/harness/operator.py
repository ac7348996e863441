"""The operator as users start it: a process of its own."""

from __future__ import annotations

import re
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.client import Api, eventually
from e2e.harness.errors import HarnessError
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import START_LIMIT, answers, wait_until

PROGRAM = Path(sys.executable).with_name("training-operator")
"""The command of the virtual environment that runs the tests."""
WRITES = re.compile(r'^rest_client_requests_total\{.*method="(?:PATCH|POST|PUT|DELETE)"\} (\S+)$', re.MULTILINE)
"""Series of the requests that may change something, for `Operator.counted`."""
LOOKS = re.compile(r"^controller_runtime_reconcile_total\{.*\} (\S+)$", re.MULTILINE)
"""Series of the looks at jobs, for `Operator.counted`."""


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
                "--force",  # tests share a server, on which another one may have installed an operator
                f"--health-probe-bind-address=127.0.0.1:{probes}",
                f"--metrics-bind-address=127.0.0.1:{metrics}",
                *flags,
            ],
            log,
        )

    def wait_ready(self, limit: float = START_LIMIT) -> None:
        """Return once the probe says ready; an operator that ends before raises with its log."""
        wait_until(lambda: answers(f"{self.probes}/readyz"), "the operator", [self.child], limit)

    def counted(self, series: re.Pattern[str]) -> float:
        """The sum of some counters since the start."""
        with urllib.request.urlopen(self.metrics, timeout=30) as answer:
            return sum(map(float, series.findall(answer.read().decode())))


async def look_again(operator: Operator, api: Api, job: str) -> None:
    """Change what means nothing in the job at path `job`, and wait until the operator has looked at a job."""
    looks = operator.counted(LOOKS)
    await api.patch(job, {"metadata": {"annotations": {"example.com/look": f"after {looks}"}}})

    async def looked() -> bool:
        return operator.counted(LOOKS) > looks

    await eventually(looked, "the operator looks at the job again")


async def rests(operator: Operator, api: Api, job: str) -> None:
    """Wait until a look at the job at path `job` leads to no write: what was to be counted and told, is."""

    async def quiet() -> bool:
        before = operator.counted(WRITES)
        await look_again(operator, api, job)
        return operator.counted(WRITES) == before

    await eventually(quiet, "a look at the job that leads to no write")


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
