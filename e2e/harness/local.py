"""The embedded API server as a process of its own, without the node that would run pods."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.binaries import programs
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until


@contextmanager
def local() -> Iterator[Cluster]:
    """Run the server until the context is left; it must then end in good order."""
    kubectl = programs()["kubectl"]
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "e2e.harness.local_server", str(kubeconfig)]
        server = Child(command, Path(folder) / "server.log")
        try:
            wait_until(kubeconfig.exists, "the embedded API server", [server])
            cluster = Cluster("local", kubeconfig, str(kubectl))
            cluster.apply_crds()
            yield cluster
        except BaseException:
            server.kill()
            raise
        if (status := server.stop()) != 0:
            raise HarnessError(f"the embedded API server ended with status {status}:\n{server.output()[-4000:]}")
