"""The providers of a cluster by name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from e2e.harness.bare import bare
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.kind import kind
from e2e.harness.local import local
from e2e.node.cluster import node

PROVIDERS = ("bare", "kind", "existing", "local", "node")


def provide(provider: str, kubeconfig: Path | None = None) -> AbstractContextManager[Cluster]:
    """A context with the cluster of `provider`, our CRDs applied; `kubeconfig` says which one `existing` means."""
    match provider:
        case "bare":
            return bare()
        case "kind":
            return kind()
        case "local":
            return local()
        case "node":
            return node()
        case "existing":
            return existing(kubeconfig)
    raise HarnessError(f"unknown provider {provider!r}: choose one of {', '.join(PROVIDERS)}")


@contextmanager
def existing(kubeconfig: Path | None) -> Iterator[Cluster]:
    """A cluster that others run; it is left as it is found but for CRDs and what tests forget."""
    if kubeconfig is None or not kubeconfig.is_file():
        raise HarnessError(f"the provider `existing` needs a kubeconfig file (KUBECONFIG=FILE); given: {kubeconfig}")
    if shutil.which("kubectl") is None:
        raise HarnessError("the provider `existing` needs kubectl in PATH")
    cluster = Cluster("existing", kubeconfig, "kubectl")
    cluster.apply_crds()
    yield cluster
