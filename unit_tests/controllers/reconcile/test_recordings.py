"""The pods of the recorded cases have what v1 gave them (conformance recordings, first snapshot of each case)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from e2e.support.paths import ROOT
from unit_tests.controllers.builders import UID, framework_of, load

from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_pod

CONFORMANCE = ROOT / "e2e" / "conformance"
CASES = sorted(
    path.stem for path in (CONFORMANCE / "golden").glob("*.json") if json.loads(path.read_text())["snapshots"]
)


def test_there_are_recordings() -> None:
    assert len(CASES) >= 45


@pytest.mark.parametrize("case", CASES)
def test_pods_equal_the_recorded_ones(case: str) -> None:
    stored = yaml.load((CONFORMANCE / "cases" / f"{case}.yaml").read_text(), yaml.CSafeLoader)["job"]
    recorded = json.loads((CONFORMANCE / "golden" / f"{case}.json").read_text())["snapshots"][0]["state"]["pods"]
    stored["metadata"] |= {"namespace": "<ns>", "uid": UID}
    job, framework = load(stored["kind"], stored), framework_of(stored["kind"])
    for pod in recorded:
        labels = pod["metadata"]["labels"]
        slot = Slot(
            job.info.canonical_type(labels["training.kubeflow.org/replica-type"]),
            int(labels.get("training.kubeflow.org/replica-index", 0)),
        )
        ours = build_pod(job, framework, NewPod(slot))
        assert essence(ours) == essence(pod)


MENDED = ("PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_default_hostfile")
"""Variables that v1 does not set: Open MPI 5 reads them in place of Open MPI 4's."""


def essence(pod: dict[str, Any]) -> dict[str, Any]:
    """What an operator decides, without what the API server fills in."""
    metadata, spec = pod["metadata"], pod["spec"]
    owners = [{**owner, "uid": ""} for owner in metadata["ownerReferences"]]
    return {
        **{key: metadata.get(key) for key in ("name", "namespace", "labels", "annotations", "finalizers")},
        "owners": owners,
        "restartPolicy": spec["restartPolicy"],
        "containers": [_container(container) for container in spec["containers"]],
        "volumes": [_volume(volume) for volume in spec.get("volumes", ())],
        "serviceAccountName": spec.get("serviceAccountName"),
        "initContainers": [_container(container) for container in spec.get("initContainers", [])],
    }


def _container(container: dict[str, Any]) -> dict[str, Any]:
    ports = [(port.get("name"), port["containerPort"]) for port in container.get("ports", ())]
    env = [{**variable, "valueFrom": _source(variable)} for variable in container.get("env", ())]
    kept = [variable for variable in env if variable["name"] not in MENDED]
    fields = ("name", "image", "command", "args", "volumeMounts")
    return {**{key: container.get(key) or None for key in fields}, "env": kept, "ports": ports}


def _volume(volume: dict[str, Any]) -> dict[str, Any]:
    """A volume without the mode that the API server adds."""
    return {kind: {**source, "defaultMode": 420} if kind == "configMap" else source for kind, source in volume.items()}


def _source(variable: dict[str, Any]) -> dict[str, Any]:
    """Where a variable's value comes from; the API server adds the version of the field's path."""
    source: dict[str, Any] = variable.get("valueFrom", {})
    return {kind: {"apiVersion": "v1", **reference} for kind, reference in source.items()}
