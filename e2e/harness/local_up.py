"""The whole local cluster as users start it: `training-operator local up`, with node and operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.harness.binaries import programs
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.operator import PROGRAM
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until


@dataclass(frozen=True, slots=True)
class LocalUp:
    """A running cluster."""

    kubeconfig: Path
    child: Child

    @property
    def cluster(self) -> Cluster:
        """The same for what works through kubectl."""
        return Cluster("local up", self.kubeconfig, str(programs()["kubectl"]))

    def kubectl(self, *arguments: str, program: str = "kubectl") -> list[str | Path]:
        """The command line of a kubectl, by its name among the programs, for this cluster."""
        return [programs()[program], f"--kubeconfig={self.kubeconfig}", *arguments]


@contextmanager
def local_up(
    folder: Path, *flags: str, program: Sequence[str | Path] = (PROGRAM,), grace: float = 10.0
) -> Iterator[LocalUp]:
    """Run the cluster with its files below `folder`; it must then end in good order on SIGTERM, `grace` in seconds."""
    kubeconfig = folder / "kubeconfig"
    command: list[str | Path] = [*program, "local", "up", f"--kubeconfig={kubeconfig}", *flags]
    child = Child(command, folder / "cluster.log", env={"TRAINING_OPERATOR_STATE": str(folder / "state")})
    try:
        wait_until(kubeconfig.exists, "the local cluster", [child])
        yield LocalUp(kubeconfig, child)
    except BaseException:
        child.kill()
        raise
    if (status := child.stop(grace)) not in (0, 128 + 15, 130):
        raise HarnessError(f"the local cluster ended with status {status}:\n{child.output()[-4000:]}")
