"""Definitions come, go and change hands while an operator runs: its own it follows, those of others it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from e2e.harness.client import Api, Object
from e2e.harness.cluster import CRDS, Cluster
from e2e.harness.jobs import NO_SCHEDULER, Namespace, job, log_line
from e2e.harness.json_lines import json_lines
from e2e.harness.operator import Operator

ENABLED = ("pytorchjob", "MPIJOB", "JAXJob")
JAX_CRD = CRDS / "kubeflow.org_jaxjobs.yaml"
MPI_CRD = CRDS / "kubeflow.org_mpijobs.yaml"
ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
THEIRS = {"name": "v2beta1", "served": True, "storage": True, "schema": ANYTHING}
"""The stored version of the mpi-operator, whose definition has the name of ours."""


@pytest.fixture
def definitions(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster; at the end it has our definitions again."""
    yield cluster
    cluster.run_kubectl("delete", "--ignore-not-found", "-f", str(MPI_CRD))
    cluster.apply_crds()


def mpi_job(name: str, version: str) -> Object:
    template = {"spec": {"schedulerName": NO_SCHEDULER, "containers": [{"name": "mpi", "image": "example.com/mpi:1"}]}}
    spec = {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": template}}}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": name}, "spec": spec}


def tf_job(name: str) -> Object:
    template = {"spec": {"schedulerName": NO_SCHEDULER, "containers": [{"name": "tensorflow", "image": "x"}]}}
    spec = {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": name}, "spec": spec}


def of_mpi_jobs(operator: Operator) -> list[str]:
    """What the operator has said of the resource so far."""
    said = json_lines(operator.child.log)
    return [line.get("reason", line["event"]) for line in said if line.get("resource") == "mpijobs.kubeflow.org"]


async def test_definitions_change_hands(definitions: Cluster, api: Api, namespace: str, tmp_path: Path) -> None:
    jobs, root = Namespace(api, namespace), f"/apis/kubeflow.org/{{}}/namespaces/{namespace}"
    theirs = {**yaml.safe_load(MPI_CRD.read_text())}
    theirs["spec"]["versions"], ours = [THEIRS], {**theirs["spec"]["versions"][0], "storage": False}
    definitions.run_kubectl("delete", "-f", str(JAX_CRD), "-f", str(MPI_CRD))
    definitions.install([theirs])
    with ExitStack() as stack:
        flags = [f"--enable-scheme={kind}" for kind in ENABLED]
        operator = Operator(definitions.kubeconfig, tmp_path / "operator.log", *flags)
        stack.callback(operator.child.kill)
        operator.wait_ready()
        await log_line(operator.child.output, "jaxjobs.kubeflow.org")

        # One kind is absent, one is another operator's, one is not enabled: the others are served.
        await api.create(root.format("v2beta1") + "/mpijobs", mpi_job("theirs", "v2beta1"))
        await api.create(root.format("v1") + "/tfjobs", tf_job("not-enabled"))
        await jobs.run_to_success(job("enabled", Master=1))
        assert of_mpi_jobs(operator) == ["mpijobs.kubeflow.org is served as v2beta1, not as v1"]

        # The absent one appears; the other one is served as v1, too, but its objects remain the other operator's.
        crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/mpijobs.kubeflow.org"
        await api.patch(crd, {"spec": {"versions": [THEIRS, ours]}})
        definitions.apply_crds(JAX_CRD)
        await log_line(operator.child.output, "mpijobs.kubeflow.org is stored as v2beta1, not as v1")
        await jobs.run_to_success(job("late-kind", "JAXJob", Worker=2))
        assert await jobs.pods("theirs") == await jobs.pods("not-enabled") == []
        assert (await api.call("GET", root.format("v2beta1") + "/mpijobs/theirs")).get("status") is None
        assert len(of_mpi_jobs(operator)) == 2

        # Ours takes the place of the other one; a definition that is gone with its jobs comes back.
        definitions.run_kubectl("delete", "-f", str(JAX_CRD), "-f", str(MPI_CRD))
        definitions.apply_crds()
        await jobs.run_to_success(job("again", "JAXJob", Worker=1))
        await api.create(root.format("v1") + "/mpijobs", mpi_job("ours", "v1"))
        await jobs.pods_reach("ours", 1)
        operator.wait_ready()
        assert "Traceback" not in operator.child.output()
        assert operator.child.stop() == 0
