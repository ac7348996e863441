"""The declarations of the six kinds, and that a seventh takes no more than a declaration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from training_api.crd.build import build
from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import BadDeclaration, KindInfo
from training_api.models.common import JobSpec, ReplicaSpecs, RestartPolicy
from training_api.registry import KINDS
from training_api.validation import problems


def test_kinds_in_order() -> None:
    assert [*KINDS] == ["PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob"]
    assert all(name == info.kind for name, info in KINDS.items())


@pytest.mark.parametrize("info", KINDS.values(), ids=KINDS)
def test_declaration_is_consistent(info: KindInfo) -> None:
    assert info.plural == f"{info.singular}s"
    assert info.controller_name == f"{info.kind.lower()}-controller"


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
    replicas = {"follower": replica, "Leader": replica}
    stored = {"metadata": {"name": "a"}, "spec": {"toyReplicaSpecs": replicas}}
    job = with_defaults(decode_job(TOY, stored))
    assert [(name, r.replicas) for name, r in job.replicas.items()] == [("Leader", 1), ("Follower", 1)]
    assert job.replicas["Leader"].template["spec"]["containers"][0]["ports"][0]["containerPort"] == 7
    assert problems(TOY, stored) == []
    del replicas["Leader"]
    assert [str(p) for p in problems(TOY, stored)] == ["spec.toyReplicaSpecs[Leader]: Required value: must be present"]
    assert build(TOY)["metadata"]["name"] == "toyjobs.kubeflow.org"


TYPES = "must be one of replica_types, Leader, Follower"
DNS_1035 = (
    "must be a DNS-1035 label: lower case letters, digits and '-', with a letter at the beginning and a letter or "
    "digit at the end, for example 'torchjobs'"
)
DNS_1123 = (
    "must be a DNS-1123 label: lower case letters, digits and '-', with a letter or digit at both ends, for example "
    "'torch'"
)
IANA = (
    "must be the name of a port (IANA_SVC_NAME): lower case letters, digits and single '-' between them, with at least "
    "one letter, for example 'torch-port'"
)
CAMEL_CASE = (
    "must be CamelCase: letters and digits with an upper case letter at the beginning, for example '{}'"
).format
FIELD = (
    "must be camelCase: letters and digits with a lower case letter at the beginning, for example 'torchReplicaSpecs'"
)
ALIAS = "must be 'toyReplicaSpecs', the alias of replica_specs in ToyJobSpec"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("kind", "toyJob", f"'toyJob' {CAMEL_CASE('TorchJob')}"),
        ("kind", "Toy-Job", f"'Toy-Job' {CAMEL_CASE('TorchJob')}"),
        ("kind", "T" * 53, f"'{'T' * 53}' has 53 characters and must be at most 52 long"),
        ("plural", "ToyJobs", f"'ToyJobs' {DNS_1035}"),
        ("plural", "toy_jobs", f"'toy_jobs' {DNS_1035}"),
        ("plural", "1toys", f"'1toys' {DNS_1035}"),
        ("plural", "t" * 64, f"'{'t' * 64}' has 64 characters and must be at most 63 long"),
        ("short_names", ("toy", "toy-"), f"'toy-' {DNS_1035}"),
        ("replica_field", "toyReplicas", f"'toyReplicas' {ALIAS}"),
        ("replica_types", (), "() must be one type or more, none of them twice in any spelling"),
        (
            "replica_types",
            ("Leader", "Follower", "leader"),
            f"'leader' {CAMEL_CASE('Worker')}\nToyJob: replica_types "
            "('Leader', 'Follower', 'leader') must be one type or more, none of them twice in any spelling",
        ),
        ("container", "Toy", f"'Toy' {DNS_1123}"),
        ("container", "t" * 64, f"'{'t' * 64}' has 64 characters and must be at most 63 long"),
        (
            "port_name",
            "toyjob-port-name",
            "'toyjob-port-name' has 16 characters and must be at most 15 long",
        ),
        ("port_name", "toy--port", f"'toy--port' {IANA}"),
        ("port_name", "-toy", f"'-toy' {IANA}"),
        ("port_name", "toyPort", f"'toyPort' {IANA}"),
        ("port_name", "80", f"'80' {IANA}"),
        ("port_name", "", f"'' {IANA}"),
        ("port", "80", "'80' must be an integer"),
        ("short_names", "toy", "'toy' must be a tuple, for example ('toy',)"),
        ("single_types", "Leader", "'Leader' must be a tuple, for example ('Leader',)"),
        ("spec", BaseModel, "<class 'pydantic.main.BaseModel'> must be a subclass of JobSpec"),
        ("port", 0, "0 must be from 1 to 65535"),
        ("port", 65536, "65536 must be from 1 to 65535"),
        ("scalable", True, "True needs the type Worker, whose number is scaled, among replica_types, Leader, Follower"),
        ("required_types", ("leader",), f"'leader' {TYPES}"),
        ("single_types", ("Chief",), f"'Chief' {TYPES}"),
        ("populated_types", ("Chief",), f"'Chief' {TYPES}"),
        ("default_replicas", {"Chief": 2}, f"'Chief' {TYPES}"),
        (
            "unnumbered_types",
            ("Leader",),
            "'Leader' must be one of single_types, too: two pods of it would have one name",
        ),
    ],
)
def test_a_kind_that_kubernetes_would_reject_cannot_be_declared(field: str, value: Any, problem: str) -> None:
    with pytest.raises(BadDeclaration) as rejection:
        replace(TOY, **{"required_types": (), field: value})
    kind = value if field == "kind" else TOY.kind
    assert str(rejection.value) == f"{kind}: {field} {problem}"


def test_a_replica_field_is_one_of_the_api() -> None:
    with pytest.raises(BadDeclaration) as rejection:
        replace(TOY, replica_field="ToyReplicaSpecs")
    first, second = str(rejection.value).splitlines()
    assert first == f"ToyJob: replica_field 'ToyReplicaSpecs' {FIELD}"
    assert second == f"ToyJob: replica_field 'ToyReplicaSpecs' {ALIAS}"


def test_all_that_is_wrong_with_a_declaration_is_told_at_once() -> None:
    with pytest.raises(BadDeclaration) as rejection:
        replace(TOY, port=0, port_name="80", required_types=("Chief",), unnumbered_types=("Boss",))
    problems_told = [line.split()[1:3] for line in str(rejection.value).splitlines()]
    assert problems_told == [
        ["port_name", "'80'"],
        ["port", "0"],
        ["required_types", "'Chief'"],
        ["unnumbered_types", "'Boss'"],
        ["unnumbered_types", "'Boss'"],
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("port_name", "toyjob-port-999"),
        ("port_name", "9p"),
        ("port", 65535),
        ("container", "9-toy"),
        ("short_names", ()),
        ("kind", "T" * 52),
        ("single_types", ("Leader", "Follower")),
    ],
)
def test_what_kubernetes_takes_can_be_declared(field: str, value: Any) -> None:
    assert getattr(replace(TOY, **{field: value}), field) == value
