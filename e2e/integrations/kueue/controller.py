"""The real Kueue controller as a process beside a control plane, installed from its own manifests."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from e2e.harness.bare import bare
from e2e.harness.binaries import KUEUE, of_minor, programs
from e2e.harness.client import Object
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator, running_operator
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import answers, private_file, wait_until

NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"
FRAMEWORKS = [f"kubeflow.org/{kind}" for kind in ("pytorchjob", "tfjob", "xgboostjob", "paddlejob", "jaxjob", "mpijob")]
INSTALLED = (
    "Namespace",
    "CustomResourceDefinition",
    "Secret",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
"""Of Kueue's manifests; it runs as a process and with full rights, so the rest is not needed."""
MPI_AS_V2BETA1 = [
    {"op": "copy", "from": "/spec/versions/0", "path": "/spec/versions/1"},
    {"op": "replace", "path": "/spec/versions/1/name", "value": "v2beta1"},
    {"op": "replace", "path": "/spec/versions/1/storage", "value": False},
]
"""Patch of our definition of MPIJobs: Kueue knows them in this version only, and needs no more than what both share."""


@contextmanager
def queueing_cluster(folder: Path) -> Iterator[tuple[Cluster, Operator]]:
    """A control plane with Kueue, all six kinds for it, and the operator."""
    with bare() as cluster:
        patch = ("patch", "crd", "mpijobs.kubeflow.org", "--type=json", f"--patch={json.dumps(MPI_AS_V2BETA1)}")
        cluster.run_kubectl(*patch)
        with running_kueue(cluster, folder), running_operator(cluster.kubeconfig, folder / "operator.log") as operator:
            yield cluster, operator


@contextmanager
def running_kueue(cluster: Cluster, folder: Path) -> Iterator[Child]:
    """Install Kueue in the cluster and run it, its files below `folder`, until the context is left.

    TRAINING_E2E_KUEUE names another minor version than the usual one.
    """
    built = programs((of_minor(KUEUE, os.environ.get("TRAINING_E2E_KUEUE")),))
    webhooks, probes = free_ports(2)
    manifests = yaml.load_all(
        cluster.run_kubectl("kustomize", str(built["kueue-config"] / "default")), Loader=yaml.CSafeLoader
    )
    install(cluster, [redirected(each, webhooks) for each in manifests if each["kind"] in INSTALLED])
    certificates = folder / "certificates"
    configuration = private_file(folder / "kueue.json", json.dumps(configured(webhooks, probes, certificates)))
    command: list[str | Path] = [built["kueue"], f"--config={configuration}", f"--kubeconfig={cluster.kubeconfig}"]
    kueue = Child([*command, "--feature-gates=VisibilityOnDemand=false"], folder / "kueue.log")
    try:
        wait_until(lambda: mounted(cluster, certificates), "Kueue's certificate", [kueue])
        wait_until(lambda: answers(f"http://127.0.0.1:{probes}/readyz"), "Kueue", [kueue])
        yield kueue
    finally:
        kueue.kill()


def configured(webhooks: int, probes: int, certificates: Path) -> Object:
    """Kueue's configuration: our six kinds, everything on loopback, as fast as the control plane."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(certificates)},
        "internalCertManagement": {"enable": True, "webhookServiceName": SERVICE, "webhookSecretName": SECRET},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 200, "burst": 400},
        "integrations": {"frameworks": FRAMEWORKS},
    }


def redirected(manifest: Object, port: int) -> Object:
    """A manifest whose webhooks call Kueue's service at `port` instead of 443."""

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("name") == SERVICE and "path" in value:
                value["port"] = port
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                visit(each)

    visit(manifest)
    return manifest


def install(cluster: Cluster, manifests: list[Object]) -> None:
    """Create Kueue's objects, and a service whose name leads to this machine."""
    where = {"name": SERVICE, "namespace": NAMESPACE}
    spec = {"type": "ExternalName", "externalName": "localhost"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": where, "spec": spec}
    cluster.install([*manifests, service])


def mounted(cluster: Cluster, folder: Path) -> bool:
    """Whether Kueue has made its certificate; if so, it is put where a kubelet would mount it."""
    secret = json.loads(cluster.run_kubectl("get", "secret", SECRET, f"--namespace={NAMESPACE}", "--output=json"))
    if "tls.crt" not in secret.get("data", {}):
        return False
    folder.mkdir(mode=0o700)
    for name, content in secret["data"].items():
        private_file(folder / name, base64.b64decode(content).decode())
    return True
