"""The operator as it is shipped, in front of a real API server: its roles, its account, its flags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.deployment.installation import DEPLOY, account_kubeconfig
from e2e.harness.bare import bare
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator, running_operator

NAMESPACE = "kubeflow"
"""Of the installation."""


@contextmanager
def installed() -> Iterator[Cluster]:
    """A control plane with the objects of overlay `kubeflow`, users' roles included."""
    with bare() as cluster:
        cluster.run_kubectl("create", "namespace", NAMESPACE)
        cluster.run_kubectl("apply", "-k", str(DEPLOY / "overlays" / "kubeflow"))
        yield cluster


@contextmanager
def running(cluster: Cluster, folder: Path) -> Iterator[Operator]:
    """The operator as its pod would run it."""
    kubeconfig = account_kubeconfig(cluster, NAMESPACE, folder)
    flags = ("--leader-elect", f"--operator-namespace={NAMESPACE}")
    with running_operator(kubeconfig, folder / "operator.log", *flags) as operator:
        yield operator
