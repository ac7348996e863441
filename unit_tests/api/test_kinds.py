"""The declarations of the six kinds, and that a seventh takes no more than a declaration."""

from __future__ import annotations

import pytest
from pydantic import Field

from training_api.crd.build import build
from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import KindInfo
from training_api.models.common import JobSpec, ReplicaSpecs, RestartPolicy
from training_api.registry import KINDS
from training_api.validation import problems


def test_kinds_in_order() -> None:
    assert [*KINDS] == ["PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob"]
    assert all(name == info.kind for name, info in KINDS.items())


@pytest.mark.parametrize("info", KINDS.values(), ids=KINDS)
def test_declaration_is_consistent(info: KindInfo) -> None:
    assert info.spec.model_fields["replica_specs"].alias == info.replica_field
    assert info.plural == f"{info.singular}s"
    assert info.controller_name == f"{info.kind.lower()}-controller"
    named = {*info.required_types, *info.single_types, *info.populated_types, *info.default_replicas}
    assert named <= set(info.replica_types)
    assert not info.scalable or "Worker" in info.replica_types


def test_short_names_are_different_and_no_common_ones() -> None:
    names = [name for info in KINDS.values() for name in info.short_names]
    common = {
        "po",
        "svc",
        "cm",
        "ns",
        "no",
        "pv",
        "pvc",
        "sa",
        "ev",
        "ds",
        "rs",
        "sts",
        "deploy",
        "cj",
        "hpa",
        "pg",
        "tj",
    }
    assert len(names) == len(set(names)) == len(KINDS)
    assert not common & set(names)


class ToyJobSpec(JobSpec):
    """What a toy job runs."""

    replica_specs: ReplicaSpecs = Field(alias="toyReplicaSpecs")
    """The replicas: Leader and Follower."""


TOY = KindInfo(
    kind="ToyJob",
    plural="toyjobs",
    short_names=("toy",),
    spec=ToyJobSpec,
    replica_field="toyReplicaSpecs",
    replica_types=("Leader", "Follower"),
    container="toy",
    port_name="toy-port",
    port=7,
    restart_policy=RestartPolicy.NEVER,
    scalable=False,
    metrics_label="toy",
    required_types=("Leader",),
)


def test_a_seventh_kind_is_a_declaration() -> None:
    replica = {"template": {"spec": {"containers": [{"name": "toy", "image": "x"}]}}}
    stored = {"metadata": {"name": "a"}, "spec": {"toyReplicaSpecs": {"follower": replica, "Leader": replica}}}
    job = with_defaults(decode_job(TOY, stored))
    assert [(name, r.replicas) for name, r in job.replicas.items()] == [("Leader", 1), ("Follower", 1)]
    assert job.replicas["Leader"].template["spec"]["containers"][0]["ports"][0]["containerPort"] == 7
    assert problems(TOY, stored) == []
    del stored["spec"]["toyReplicaSpecs"]["Leader"]
    assert [str(p) for p in problems(TOY, stored)] == ["spec.toyReplicaSpecs[Leader]: Required value: must be present"]
    assert build(TOY)["metadata"]["name"] == "toyjobs.kubeflow.org"
