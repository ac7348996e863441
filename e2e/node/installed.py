"""The operator as administrators install it: `kubectl apply -k` of the standalone overlay, and pods of our image."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from e2e.deployment.installation import ACCOUNT, DEPLOY, LEASE, RELEASED
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.node.images import KUBECTL, WAITING
from e2e.node.operator_image import OPERATOR

NAMESPACE: Final = "kubeflow"
IN_NAMESPACE: Final = f"--namespace={NAMESPACE}"
SELECTOR: Final = "control-plane=kubeflow-training-operator"
STANDALONE: Final = DEPLOY / "overlays" / "standalone"
FLAGS: Final = (f"--pytorch-init-container-image={WAITING}", f"--mpi-kubectl-delivery-image={KUBECTL}")
"""Name the images that jobs need of those that exist on the node."""


def write_overlay(folder: Path, *flags: str, components: Sequence[str] = ()) -> Path:
    """An administrator's own overlay with the node's images, further flags and components of `deploy`."""
    name, tag = OPERATOR.split(":")
    path = "/spec/template/spec/containers/0/args/-"
    add = [{"op": "add", "path": path, "value": flag} for flag in (*FLAGS, *flags)]
    content = {
        # kustomize takes relative paths only.
        "resources": [os.path.relpath(STANDALONE, folder)],
        "components": [os.path.relpath(DEPLOY / "components" / each, folder) for each in components],
        "images": [{"name": RELEASED.partition(":")[0], "newName": name, "newTag": tag}],
        "patches": [{"target": {"kind": "Deployment", "name": ACCOUNT}, "patch": json.dumps(add)}],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(content))
    return folder


def wait_until_leading(cluster: Cluster) -> None:
    """Return once one of the pods has the lease."""
    wait = ("wait", "--for=create", f"lease/{LEASE}", "--timeout=60s")
    try:
        cluster.run_kubectl(IN_NAMESPACE, *wait)
    except HarnessError as error:
        raise HarnessError(f"{error}\n{story(cluster)}") from None


def story(cluster: Cluster) -> str:
    """What is known of the operator's pods."""
    select = (IN_NAMESPACE, f"--selector={SELECTOR}")
    pods = cluster.run_kubectl("get", "pods", *select, "--output=wide")
    events = cluster.run_kubectl("get", "events", IN_NAMESPACE)
    logs = cluster.run_kubectl("logs", *select, "--prefix", "--ignore-errors", "--tail=50")
    return f"{pods}\n{events}\n{logs}"
