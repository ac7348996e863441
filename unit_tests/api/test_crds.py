"""The CRDs in `crds/` are current, small enough, and have v1's fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.every_kind import EVERY_KIND
from e2e.support.paths import ROOT

from training_api.crd.__main__ import main, rendered
from training_api.crd.build import build
from training_api.crd.upstream import DATA, render, upstream_schemas
from training_api.crd.upstream import main as refresh
from training_api.kinds import KindInfo
from training_api.registry import JAX, KINDS, MPI, PADDLE, PYTORCH, TENSORFLOW, XGBOOST

CRDS = ROOT / "crds"
LIMIT = 256 * 1024
"""Longest annotation, in bytes: `kubectl apply` keeps the whole object in one."""


@cache
def built(kind: str) -> dict[str, Any]:
    return build(EVERY_KIND[kind])


def version_of(definition: Mapping[str, Any]) -> Any:
    [version] = definition["spec"]["versions"]
    return version


def spec_of(info: KindInfo) -> Any:
    return version_of(built(info.kind))["schema"]["openAPIV3Schema"]["properties"]["spec"]


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all schemas inside it."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from schemas(inner)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from schemas(schema[key])


def test_files_are_current() -> None:
    assert main(["--check", str(CRDS)]) == 0, "run `make crds`"
    assert {path.name for path in CRDS.iterdir()} == set(rendered())


def test_check_names_what_is_not_current(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new")]) == 0
    assert main(["--check", str(tmp_path / "new")]) == 0
    (tmp_path / "new" / "kubeflow.org_jaxjobs.yaml").write_text("old")
    (tmp_path / "new" / "kubeflow.org_tfjobs.yaml").unlink()
    assert main(["--check", str(tmp_path / "new")]) == 1
    errors = capsys.readouterr().err
    assert [line.split("/")[-1] for line in errors.splitlines()] == [
        "kubeflow.org_tfjobs.yaml is not current; run `make crds`",
        "kubeflow.org_jaxjobs.yaml is not current; run `make crds`",
    ]


@pytest.mark.parametrize("info", KINDS.values(), ids=KINDS)
def test_file_holds_the_definition_and_fits_into_an_annotation(info: KindInfo) -> None:
    path = CRDS / f"kubeflow.org_{info.plural}.yaml"
    definition = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    assert definition == built(info.kind)
    assert path.stat().st_size < LIMIT
    assert len(json.dumps(definition)) < LIMIT


@pytest.mark.parametrize(
    ("info", "fields"),
    [
        (PYTORCH, {"runPolicy", "pytorchReplicaSpecs", "nprocPerNode", "elasticPolicy"}),
        (TENSORFLOW, {"runPolicy", "tfReplicaSpecs", "successPolicy", "enableDynamicWorker"}),
        (XGBOOST, {"runPolicy", "xgbReplicaSpecs"}),
        (MPI, {"runPolicy", "mpiReplicaSpecs", "slotsPerWorker", "cleanPodPolicy", "mainContainer"}),
        (PADDLE, {"runPolicy", "paddleReplicaSpecs", "elasticPolicy"}),
        (JAX, {"runPolicy", "jaxReplicaSpecs"}),
    ],
    ids=lambda value: value.kind if isinstance(value, KindInfo) else "",
)
def test_spec_has_v1s_fields(info: KindInfo, fields: set[str]) -> None:
    spec = spec_of(info)
    assert set(spec["properties"]) == fields
    assert spec["required"] == [info.replica_field]
    run_policy = spec["properties"]["runPolicy"]
    assert run_policy["default"] == {}
    assert run_policy["properties"]["suspend"]["default"] is False
    assert set(run_policy["properties"]) == {
        "cleanPodPolicy",
        "ttlSecondsAfterFinished",
        "activeDeadlineSeconds",
        "backoffLimit",
        "schedulingPolicy",
        "suspend",
        "managedBy",
    }
    assert set(run_policy["properties"]["schedulingPolicy"]["properties"]) == {
        "minAvailable",
        "queue",
        "minResources",
        "priorityClass",
        "scheduleTimeoutSeconds",
    }
    replica = spec["properties"][info.replica_field]["additionalProperties"]
    assert set(replica["properties"]) == {"replicas", "template", "restartPolicy"}


def test_elastic_policies_have_v1s_fields() -> None:
    common = {"minReplicas", "maxReplicas", "maxRestarts", "metrics"}
    rendezvous = {"rdzvBackend", "rdzvPort", "rdzvHost", "rdzvId", "rdzvConf", "standalone", "nProcPerNode"}
    assert set(spec_of(PADDLE)["properties"]["elasticPolicy"]["properties"]) == common
    assert set(spec_of(PYTORCH)["properties"]["elasticPolicy"]["properties"]) == common | rendezvous


@pytest.mark.parametrize("info", EVERY_KIND.values(), ids=EVERY_KIND)
def test_every_field_of_ours_is_described_and_none_of_kubernetes(info: KindInfo) -> None:
    job = version_of(built(info.kind))["schema"]["openAPIV3Schema"]
    for part in ("spec", "status"):
        assert all("description" in field for field in own_fields(job["properties"][part]))
    assert not any("description" in schema for known in upstream_schemas().values() for schema in schemas(known))


def own_fields(schema: Any) -> Iterator[Any]:
    for name, inner in schema.get("properties", {}).items():
        yield inner
        if name not in ("template", "metrics"):
            yield from own_fields(inner.get("items", inner.get("additionalProperties", inner)))


@pytest.mark.parametrize("info", EVERY_KIND.values(), ids=EVERY_KIND)
def test_schema_is_structural_and_typed(info: KindInfo) -> None:
    for schema in schemas(version_of(built(info.kind))["schema"]["openAPIV3Schema"]):
        assert "type" in schema or schema.get("x-kubernetes-int-or-string"), schema
        assert not {"$ref", "allOf", "title", "nullable", "upstream"} & set(schema)
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            item = schema["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key]


@pytest.mark.shows("E-009")
@pytest.mark.parametrize("info", EVERY_KIND.values(), ids=EVERY_KIND)
def test_columns(info: KindInfo) -> None:
    columns = version_of(built(info.kind))["additionalPrinterColumns"]
    shown = [column["name"] for column in columns if not column.get("priority")]
    assert shown == (["Age", "State"] if info is MPI else ["State", "Age"])
    assert columns[shown.index("State")]["jsonPath"] == ".status.conditions[-1:].type"


@pytest.mark.shows("PT-044", "TF-040", "XGB-028", "PD-026", "JAX-023")
@pytest.mark.parametrize("info", EVERY_KIND.values(), ids=EVERY_KIND)
def test_which_kinds_have_a_scale_subresource(info: KindInfo) -> None:
    subresources = version_of(built(info.kind))["subresources"]
    assert subresources["status"] == {}
    assert subresources.get("scale") == (
        {
            "specReplicasPath": f".spec.{info.replica_field}.Worker.replicas",
            "statusReplicasPath": ".status.replicaStatuses.Worker.active",
            "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
        }
        if info in (PYTORCH, PADDLE, JAX)
        else None
    )


def test_upstream_schemas_are_made_structural() -> None:
    prefix = "#/components/schemas/"
    definitions: dict[str, Any] = {
        "io.k8s.api.core.v1.PodTemplateSpec": {
            "description": "dropped",
            "type": "object",
            "properties": {
                "metadata": {"allOf": [{"$ref": f"{prefix}meta.v1.ObjectMeta"}], "default": {}},
                "cpu": {"$ref": f"{prefix}io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "port": {"$ref": f"{prefix}io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
                "phase": {"type": "string", "enum": ["A"], "default": "A"},
                "selector": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
                "ports": {
                    "type": "array",
                    "items": {"allOf": [{"$ref": f"{prefix}Port"}], "default": {}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["number", "protocol"],
                    "x-kubernetes-patch-merge-key": "number",
                },
            },
        },
        "meta.v1.ObjectMeta": {
            "type": "object",
            "properties": {
                n: {"type": "string"} for n in ("name", "namespace", "labels", "annotations", "finalizers", "uid")
            },
        },
        "Port": {
            "type": "object",
            "required": ["number"],
            "properties": {
                "number": {"type": "integer", "format": "int32", "default": 0},
                "protocol": {"type": "string", "default": "TCP"},
            },
        },
        "io.k8s.api.autoscaling.v2.MetricSpec": {"type": "object", "required": ["type"]},
    }
    [core, scaling] = (
        {n: d for n, d in definitions.items() if ("autoscaling" in n) == wanted} for wanted in (False, True)
    )
    made = json.loads(render([{"components": {"schemas": core}}, {"components": {"schemas": scaling}}]))
    assert made["MetricSpec"] == {"type": "object", "required": ["type"]}
    properties = made["PodTemplateSpec"]["properties"]
    assert set(properties["metadata"]["properties"]) == {"name", "namespace", "labels", "annotations", "finalizers"}
    assert properties["cpu"]["x-kubernetes-int-or-string"] is True
    assert properties["cpu"]["pattern"].startswith("^")
    assert "pattern" not in properties["port"]
    assert properties["phase"] == {"type": "string"}
    assert properties["selector"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert properties["ports"] == {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["number"],
            "properties": {
                "number": {"type": "integer", "format": "int32"},
                "protocol": {"type": "string", "default": "TCP"},
            },
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["number", "protocol"],
    }


def test_wrong_documents_are_rejected_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "core.json"
    document.write_text('{"components": {"schemas": {}}}')
    before = DATA.read_bytes()
    with pytest.raises(SystemExit) as end:
        refresh([str(document), str(document)])
    assert end.value.code == 2
    assert "no OpenAPI v3 documents with PodTemplateSpec and MetricSpec" in capsys.readouterr().err
    assert DATA.read_bytes() == before


def test_upstream_data_are_compact() -> None:
    assert DATA.stat().st_size < 80_000
    assert set(upstream_schemas()) == {"PodTemplateSpec", "MetricSpec"}


@pytest.mark.parametrize("info", EVERY_KIND.values(), ids=lambda info: info.kind)
def test_every_number_of_replicas_has_the_maximum_and_nothing_else(info: KindInfo) -> None:
    def maxima(spec: Mapping[str, Any]) -> list[int]:
        return [schema["maximum"] for schema in schemas(spec) if "maximum" in schema]

    elastic = info in (PYTORCH, PADDLE)
    assert maxima(spec_of(info)) == [10_000] * (3 if elastic else 1)
    assert maxima(version_of(build(info, 7))["schema"]["openAPIV3Schema"]) == [7] * (3 if elastic else 1)
