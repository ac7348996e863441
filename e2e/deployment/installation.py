"""Installing an overlay of `deploy/`, and acting as the account that it makes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from e2e.harness.bare import AUDITED, audited
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.support.paths import ROOT

DEPLOY = ROOT / "deploy"
OVERLAYS = ("kubeflow", "namespaced", "standalone")
ACCOUNT = "training-operator"
LEASE = "1ca428e5.training-operator.kubeflow.org"
GRANTING = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
"""Kinds of the objects that give an account its rights."""

_IMAGE = yaml.safe_load((DEPLOY / "base" / "kustomization.yaml").read_text())["images"][0]
RELEASED = f"{_IMAGE['newName']}:{_IMAGE['newTag']}"
"""The image that all overlays name; nodes of tests have it before they could pull it."""

Object = dict[str, Any]
Right = tuple[str, str, str]
"""Group, resource with subresource, verb."""


def render(cluster: Cluster, folder: Path) -> list[Object]:
    """The objects that kustomize makes of a folder; a folder keeps what it has while tests run."""
    return _parsed(_rendered(cluster, folder))


@cache
def _rendered(cluster: Cluster, folder: Path) -> str:
    return cluster.run_kubectl("kustomize", str(folder))


def _parsed(text: str) -> list[Object]:
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def combined(
    cluster: Cluster, overlay: str, components: Sequence[str], namespace: str = "", others: Sequence[str] = ()
) -> list[Object]:
    """An overlay with components."""
    return _parsed(_combined(cluster, (overlay, *others), tuple(components), namespace))


@cache
def _combined(cluster: Cluster, overlays: tuple[str, ...], components: tuple[str, ...], namespace: str) -> str:
    # kustomize takes relative paths only.
    with tempfile.TemporaryDirectory() as folder:
        deploy = os.path.relpath(DEPLOY, Path(folder).resolve())
        content: Object = {
            "resources": [f"{deploy}/overlays/{each}" for each in overlays],
            "components": [f"{deploy}/components/{component}" for component in components],
        }
        if namespace:
            content["namespace"] = namespace
        (Path(folder) / "kustomization.yaml").write_text(json.dumps(content))
        return cluster.run_kubectl("kustomize", folder)


def of_kind(objects: list[Object], kind: str) -> dict[str, Object]:
    """The rendered objects of a kind by name."""
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def namespace_of(objects: list[Object]) -> str:
    """The namespace that an overlay installs the operator in."""
    namespace: str = of_kind(objects, "Deployment")[ACCOUNT]["metadata"]["namespace"]
    return namespace


def account_kubeconfig(cluster: Cluster, namespace: str, folder: Path, account: str = ACCOUNT) -> Path:
    """A kubeconfig of an account, the operator's own by default, with a token as its pod would have one."""
    token = cluster.run_kubectl("create", "token", account, f"--namespace={namespace}").strip()
    admin = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    ca_file = Path(admin["certificate-authority"])
    return write_kubeconfig(folder / f"{account}.kubeconfig", admin["server"], ca_file, {"token": token})


def granted(objects: list[Object], *kinds: str) -> set[Right]:
    """Everything that the rendered roles of these kinds allow."""
    return {
        (group, resource, verb)
        for each in objects
        if each["kind"] in kinds
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def grant(cluster: Cluster) -> None:
    """Make the account of the standalone overlay, its namespace and its rights, without anything that runs."""
    objects = render(cluster, DEPLOY / "overlays" / "standalone")
    cluster.send("apply", *(each for each in objects if each["kind"] in GRANTING))


def asked(cluster: Cluster) -> Iterator[tuple[Right, bool]]:
    """What the operator's account of a bare cluster has asked for, and whether it had the right to."""
    for entry in audited(cluster, AUDITED):
        where = entry.get("objectRef")
        if where is None or "resource" not in where:
            continue  # discovery, which everybody may read
        resource = "/".join(filter(None, (where["resource"], where.get("subresource"))))
        # Not by the status: creating in a namespace that goes is forbidden as well.
        allowed = entry["annotations"]["authorization.k8s.io/decision"] == "allow"
        yield (where.get("apiGroup", ""), resource, entry["verb"]), allowed
