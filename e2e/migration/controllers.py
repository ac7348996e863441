"""The real controllers of Trainer v2 and JobSet as processes beside a control plane, with their own manifests."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import yaml
from e2e.harness.bare import MANAGER, control_plane
from e2e.harness.binaries import JOBSET, TRAINER, TRAINER_JOBSETS, of_minor, programs
from e2e.harness.client import Object
from e2e.harness.cluster import Cluster
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import answers, private_file, wait_until

from training_local.apiserver.certificates import ServerIdentity, server_identity

INSTALLED = ("CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Of the manifests; both run as processes and with full rights, so the rest is not needed."""
LOOPBACK = "127.0.0.1"
Listener = tuple[str, int]
"""Address and port."""
POD_GROUPS = {"scheduling.x-k8s.io": "v1alpha1", "scheduling.volcano.sh": "v1beta1"}
"""Groups and versions of the two kinds of PodGroup that Trainer knows."""
MINOR = os.environ.get("TRAINING_E2E_TRAINER")
"""Another minor version of Trainer than the usual one."""
CONTROLLER = of_minor(TRAINER, MINOR)
VERSION: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "kubeflow-trainer-public", "namespace": "kubeflow-system"},
    "data": {"kubeflow_trainer_version": CONTROLLER.version},
}
"""Where an installation says which release it is."""
CERTIFICATES = Path("k8s-webhook-server") / "serving-certs"
"""Where controllers look for their certificate below the folder for temporary files; it cannot be set for Trainer."""


@contextmanager
def trainer_cluster(folder: Path) -> Iterator[Cluster]:
    """A control plane with Trainer v2 and JobSet; their files lie below `folder`."""
    with control_plane() as plane, running_trainer(plane.cluster, folder):
        # Its garbage collector looks for kinds that are new only every 30 s.
        plane.kill(MANAGER)
        plane.start(MANAGER)
        yield plane.cluster


@contextmanager
def running_trainer(cluster: Cluster, folder: Path, address: str = LOOPBACK) -> Iterator[None]:
    """Install Trainer, its stock runtimes and JobSet in the cluster, and run both until the context is left.

    `address` is that of this machine under which the API server reaches their webhooks.
    """
    built = programs((of_minor(JOBSET, TRAINER_JOBSETS.get(MINOR or "")), CONTROLLER))
    (jobset_port, jobset_probes), (trainer_port, trainer_probes) = free_ports(2), free_ports(2)
    identity = server_identity([address])
    certificates = mounted(folder / CERTIFICATES, identity)
    manifests = [
        *redirected(cluster, built["jobset-config"] / "default", (address, jobset_port), identity),
        *redirected(cluster, built["trainer-manifests"] / "base" / "crds", (address, trainer_port), identity),
        *redirected(cluster, built["trainer-manifests"] / "base" / "webhook", (address, trainer_port), identity),
        *(pod_groups(group, version) for group, version in POD_GROUPS.items()),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": VERSION["metadata"]["namespace"]}},
        VERSION,
    ]
    cluster.install(manifests)
    of_jobset = jobset_settings((address, jobset_port), jobset_probes, certificates)
    jobset = private_file(folder / "jobset.json", json.dumps(of_jobset))
    of_trainer = trainer_settings((address, trainer_port), trainer_probes)
    trainer = private_file(folder / "trainer.json", json.dumps(of_trainer))
    with ExitStack() as stack:
        for name, settings, probes in (("jobset", jobset, jobset_probes), ("trainer", trainer, trainer_probes)):
            command: list[str | Path] = [built[name], f"--config={settings}", f"--kubeconfig={cluster.kubeconfig}"]
            child = Child(command, folder / f"{name}.log", {"TMPDIR": str(folder)})
            stack.callback(child.kill)
            wait_until(partial(answers, f"http://127.0.0.1:{probes}/readyz"), name, [child])
        overlays = built["trainer-manifests"] / "overlays"
        cluster.run_kubectl("create", "-f", "-", stdin=cluster.run_kubectl("kustomize", str(overlays / "runtimes")))
        yield


def jobset_settings(webhooks: Listener, probes: int, certificates: Path) -> Object:
    """JobSet's configuration: probes on loopback, no other certificates than ours."""
    return {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": webhooks[0], "port": webhooks[1], "certDir": str(certificates)},
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 200, "burst": 400},
    }


def trainer_settings(webhooks: Listener, probes: int) -> Object:
    """Trainer's configuration, to the same effect."""
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": webhooks[0], "port": webhooks[1]},
        "certManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 200, "burst": 400},
    }


def redirected(cluster: Cluster, kustomization: Path, webhooks: Listener, identity: ServerIdentity) -> list[Object]:
    """What of a kustomization is installed, its webhooks called on this machine instead of by a service."""
    found = yaml.load_all(cluster.run_kubectl("kustomize", str(kustomization)), Loader=yaml.CSafeLoader)
    manifests: list[Object] = [each for each in found if each["kind"] in INSTALLED]
    for manifest in manifests:
        # One version each, so nothing is ever converted, and JobSet's controller serves no conversion.
        manifest.get("spec", {}).pop("conversion", None)
        for webhook in manifest.get("webhooks", []):
            webhook["clientConfig"] = {
                "url": f"https://{webhooks[0]}:{webhooks[1]}{webhook['clientConfig']['service']['path']}",
                "caBundle": base64.b64encode(identity.authority).decode(),
            }
    return manifests


def pod_groups(group: str, version: str) -> Object:
    """A definition of PodGroups that keeps everything: what is stored is what Trainer has written."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"podgroups.{group}",
            # The API server wants it in groups of Kubernetes itself, whatever it says.
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "listKind": "PodGroupList"},
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }


def mounted(folder: Path, identity: ServerIdentity) -> Path:
    """The folder with our certificate, as a kubelet would mount it."""
    folder.mkdir(parents=True, mode=0o700)
    private_file(folder / "tls.crt", identity.certificate.decode())
    private_file(folder / "tls.key", identity.key.decode())
    return folder
