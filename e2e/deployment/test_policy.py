"""The overlays against good practice, judged by kube-score, and Pod Security, enforced by the API server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.deployment.installation import ACCOUNT, DEPLOY, OVERLAYS, Object, of_kind, render
from e2e.harness.binaries import KUBE_SCORE, programs
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.support import marks

pytestmark = marks.real  # about kustomize and a real API server

EXEMPT = {
    "container-resources": "no CPU limit: it would slow the operator down in the moments when it matters",
    "container-resource-requests-equal-limits": "as above, and memory may grow with the number of jobs",
    "container-cpu-requests-equal-limits": "as above",
    "container-memory-requests-equal-limits": "as above",
    "container-ephemeral-storage-request-and-limit": "the root is read-only and there is no volume to write to",
    "container-image-pull-policy": "the tag is a release's, and a start must not depend on the registry",
    "pod-networkpolicy": "component network-policy adds one; ports differ between clusters",
}
"""Why a check of kube-score does not count here, by its id."""
PROFILE = "restricted"
KUBERNETES = "v1.34"
PASSED = 10
"""The best grade."""


@pytest.fixture(scope="module")
def kube_score() -> str:
    return str(programs((KUBE_SCORE,))["kube-score"])


def failed(kube_score: str, manifest: str) -> dict[str, list[str]]:
    """What kube-score finds fault with, all its checks being asked for: explanations by the check's id."""
    command = [kube_score, "score", "--output-format=json", "--all-default-optional"]
    command += [f"--kubernetes-version={KUBERNETES}", "-"]
    # Its status says whether it found anything.
    said = subprocess.run(command, input=manifest, capture_output=True, text=True, check=False)
    assert said.stdout, said.stderr
    found: dict[str, list[str]] = {}
    for judged in json.loads(said.stdout):
        for check in judged["checks"]:
            if not check["skipped"] and check["grade"] < PASSED:
                comments = check["comments"] or [{"summary": "no comment"}]
                where = f"{judged['type_meta']['kind']} {judged['object_meta']['name']}"
                found.setdefault(check["check"]["id"], []).extend(f"{where}: {each['summary']}" for each in comments)
    return found


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_good_practice(cluster: Cluster, kube_score: str, overlay: str) -> None:
    found = failed(kube_score, cluster.run_kubectl("kustomize", str(DEPLOY / "overlays" / overlay)))
    assert {check: why for check, why in found.items() if check not in EXEMPT} == {}
    assert EXEMPT.keys() - found.keys() == set(), "exempt without need"


def test_bad_practice_is_found(cluster: Cluster, kube_score: str) -> None:
    objects = render(cluster, DEPLOY / "overlays" / "standalone")
    container(objects)["securityContext"]["readOnlyRootFilesystem"] = False
    of_kind(objects, "Deployment")[ACCOUNT]["spec"]["replicas"] = 1
    found = failed(kube_score, "\n---\n".join(map(json.dumps, objects)))
    assert found.keys() - EXEMPT.keys() == {"container-security-context-readonlyrootfilesystem", "deployment-replicas"}


def container(objects: list[Object]) -> dict[str, Any]:
    found: dict[str, Any] = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.fixture(scope="module")
def restricted(cluster: Cluster) -> Iterator[str]:
    """A namespace in which the API server enforces the profile, with the operator's account."""
    name = "policy-restricted"
    labels = {"pod-security.kubernetes.io/enforce": PROFILE}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": name}}
    cluster.send("apply", namespace, account)
    yield name
    cluster.run_kubectl("delete", "namespace", name, "--wait=false")


def admit(cluster: Cluster, namespace: str, objects: list[Object]) -> None:
    """Let the API server judge the operator's pod; raises HarnessError with what it finds fault with."""
    template = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]
    where = {"name": "judged", "namespace": namespace}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": where, "spec": template["spec"]}
    cluster.send("create", pod, options=["--dry-run=server"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pod_security_is_restricted(cluster: Cluster, restricted: str, overlay: str) -> None:
    admit(cluster, restricted, render(cluster, DEPLOY / "overlays" / overlay))


def test_pods_that_may_gain_privileges_are_refused(cluster: Cluster, restricted: str) -> None:
    objects = render(cluster, DEPLOY / "overlays" / "standalone")
    container(objects)["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(HarnessError, match="violates PodSecurity"):
        admit(cluster, restricted, objects)
