"""A throw-away cluster made by the kind command line tool, where a Docker engine runs."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError


def require_kind() -> None:
    """Raise `HarnessError` if no cluster of kind can be made here."""
    for tool in ("docker", "kind", "kubectl"):
        if shutil.which(tool) is None:
            raise HarnessError(f"the provider `kind` needs {tool} in PATH; PROVIDER=bare needs none of docker and kind")
    engine = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    if engine.returncode != 0:
        raise HarnessError(f"the provider `kind` needs a running Docker engine: {_last_line(engine.stderr)}")


@contextmanager
def kind() -> Iterator[Cluster]:
    """Create a cluster of one node and delete it at the end."""
    require_kind()
    name = f"training-e2e-{secrets.token_hex(3)}"
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        target = ["--name", name, "--kubeconfig", str(kubeconfig)]
        try:
            made = subprocess.run(["kind", "create", "cluster", *target, "--wait", "180s"], check=False)
            if made.returncode != 0:
                raise HarnessError("`kind create cluster` failed; its message is above")
            cluster = Cluster("kind", kubeconfig, "kubectl")
            cluster.apply_crds()
            yield cluster
        finally:
            subprocess.run(["kind", "delete", "cluster", *target], check=False)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
