"""The embedded API server as a process of its own, without the node that would run pods."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.binaries import programs
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.processes import Child

START_LIMIT = 30.0


@contextmanager
def local() -> Iterator[Cluster]:
    """Run the server until the context is left; it must then end in good order."""
    kubectl = programs()["kubectl"]
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "e2e.harness.local_server", str(kubeconfig)]
        server = Child(command, Path(folder) / "server.log")
        try:
            _wait(server, kubeconfig)
            cluster = Cluster("local", kubeconfig, str(kubectl))
            cluster.apply_crds()
            yield cluster
        except BaseException:
            server.kill()
            raise
        if (status := server.stop()) != 0:
            raise HarnessError(f"the embedded API server ended with status {status}:\n{server.output()[-4000:]}")


def _wait(server: Child, kubeconfig: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while not kubeconfig.exists():
        server.check_alive()
        if time.monotonic() > deadline:
            raise HarnessError(f"the embedded API server did not start:\n{server.output()[-4000:]}")
        time.sleep(0.05)
