"""Patches of v1's jobs in kustomizations: patches of what the jobs become, or left with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from unit_tests.migration.conversions import Json, pytorch

from training_migration.cli import migrate
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.embedded.kustomization import without_patches
from training_migration.embedded.merge import changes, merged
from training_migration.targets import Target
from training_migration.v1_job import v1_job

OPTIONS = Options(Target.V2_3)
MERGED = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "job"},
          "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 5}}}}  # fmt: skip
OPERATIONS = [
    {"op": "replace", "path": "/spec/pytorchReplicaSpecs/Worker/template/spec/containers/0/image", "value": "i:2"},
    {"op": "replace", "path": "/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/image", "value": "i:2"},
]
TARGET = {"kind": "PyTorchJob", "name": "job"}


def base() -> Json:
    obj = pytorch(2)
    del obj["metadata"]["namespace"]
    return obj


def folder(path: Path, kustomization: Json, **files: Any) -> Path:
    """A base with one job, and an overlay."""
    for place in ("base", "prod"):
        (path / place).mkdir(parents=True)
    (path / "base" / "job.yaml").write_text(yaml.safe_dump(base()))
    (path / "base" / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["job.yaml"]}))
    content = {"kind": "Kustomization", "resources": ["../base"], **kustomization}
    (path / "prod" / "kustomization.yaml").write_text(yaml.safe_dump(content))
    for name, each in files.items():
        (path / "prod" / f"{name}.yaml").write_text(each if isinstance(each, str) else yaml.safe_dump(each))
    return path


def invoked(verb: str, *arguments: str | Path) -> Result:
    return CliRunner().invoke(migrate, [verb, "--target", "2.3", *map(str, arguments)])


def built(written: Path, patches: list[Json]) -> list[Json]:
    """What `kustomize build` makes of the written base and patches, whose lists have no keys."""
    objects = list(yaml.safe_load_all((written / "base" / "job.yaml").read_text()))
    for patch in patches:
        for at, obj in enumerate(objects):
            if (obj["kind"], obj["metadata"]["name"]) == (patch["kind"], patch["metadata"]["name"]):
                objects[at] = merged(obj, patch, "")
    return objects


@pytest.mark.parametrize(
    ("kustomization", "files"),
    [
        ({"patches": [{"path": "p.yaml"}]}, {"p": MERGED}),
        ({"patchesStrategicMerge": ["p.yaml"]}, {"p": MERGED}),
        ({"patches": [{"patch": yaml.safe_dump(MERGED)}]}, {}),
        ({"patches": [{"path": "p.yaml", "target": TARGET}]}, {"p": OPERATIONS}),
        ({"patchesJson6902": [{"path": "p.yaml", "target": {**TARGET, "group": "kubeflow.org"}}]}, {"p": OPERATIONS}),
        ({"patches": [{"path": "p.yaml"}, {"patch": json.dumps(OPERATIONS), "target": TARGET}]}, {"p": MERGED}),
    ],
)
def test_what_kustomize_builds_then_is_what_the_patched_job_converts_to(
    kustomization: Json, files: Json, tmp_path: Path
) -> None:
    given = folder(tmp_path / "in", {**kustomization, "labels": [{"pairs": {"a": "b"}}]}, **files)
    done = invoked("convert", given, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert sorted(each.name for each in (tmp_path / "out" / "prod").iterdir()) == ["kustomization.yaml"]
    written = yaml.safe_load((tmp_path / "out" / "prod" / "kustomization.yaml").read_text())
    assert written["resources"] == ["../base"] and written["labels"], "the rest stays"
    patches = [yaml.safe_load(each["patch"]) for each in written["patches"]]
    job = base()
    for each in (*kustomization.get("patches", ()), *kustomization.get("patchesStrategicMerge", ()),
                 *kustomization.get("patchesJson6902", ())):  # fmt: skip
        text = each.get("patch") if isinstance(each, dict) else None
        job = merged(job, yaml.safe_load(text) if text else files["p"], "")
    conversion = convert(v1_job(job), OPTIONS)
    assert built(tmp_path / "out", patches) == list(conversion.objects)


def test_a_patch_of_another_kind_stays_and_one_without_effect_is_gone(tmp_path: Path) -> None:
    other = {"path": "other.yaml", "target": {"kind": "ConfigMap"}}
    nothing = {**MERGED, "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}
    patches = [other, {"patch": yaml.safe_dump(nothing)}]
    given = folder(tmp_path / "in", {"patches": patches}, other=[{"op": "remove", "path": "/data"}])
    invoked("convert", given, "-o", tmp_path / "out")
    written = yaml.safe_load((tmp_path / "out" / "prod" / "kustomization.yaml").read_text())
    assert written["patches"] == [other]


@pytest.mark.parametrize(
    ("kustomization", "why"),
    [
        ({"resources": ["https://example.com/base"], "patches": [{"path": "p.yaml"}]}, "not among its local resources"),
        ({"patches": [{"patch": yaml.safe_dump({**MERGED, "spec": {"$patch": "delete"}})}]}, "a `$patch` directive"),
        ({"patches": [{"patch": '[{"op": "remove", "path": "/spec/x"}]', "target": TARGET}]}, "does not fit the job"),
        ({"patches": [{"patch": yaml.safe_dump({**MERGED, "spec": {"pytorchReplicaSpecs": None}})}]}, "would reject"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_is_left_with_the_reason(kustomization: Json, why: str, tmp_path: Path) -> None:
    files = {"p": MERGED} if "path" in kustomization["patches"][0] else {}
    given = folder(tmp_path / "in", kustomization, **files)
    done = invoked("survey", given, "--format", "json")
    assert done.exit_code == 4
    jobs = json.loads(done.stdout)["jobs"]
    assert [(each["ref"]["kind"], each["verdict"]) for each in jobs] == [
        ("PyTorchJob", "exact"), ("Kustomization", "needs-work"),
    ]  # fmt: skip
    assert why in jobs[1]["reason"]
    assert invoked("convert", given, "-o", tmp_path / "out").exit_code == 4
    assert not (tmp_path / "out" / "prod").exists()


def test_files_of_patches_are_no_jobs(tmp_path: Path) -> None:
    given = folder(
        tmp_path, {"patches": [{"path": "p.yaml", "target": TARGET}, {"path": "m.yaml"}]}, p=OPERATIONS, m=MERGED
    )
    for verb in ("survey", "lint", "diff", "render"):
        done = invoked(verb, given)
        assert done.exit_code == 0, (verb, done.output)
        assert "p.yaml" not in done.output
    assert without_patches([]) == []


def test_names_that_kustomize_changes_are_said(tmp_path: Path) -> None:
    given = folder(tmp_path, {"patches": [{"path": "p.yaml"}], "namePrefix": "prod-"}, p=MERGED)
    assert "namePrefix renames the runtime, but not" in invoked("survey", given, "--format", "json").stdout


def test_runtimes_are_not_shared_where_they_are_patched(tmp_path: Path) -> None:
    given = folder(tmp_path / "in", {"patches": [{"path": "p.yaml"}]}, p=MERGED)
    (given / "base" / "more.yaml").write_text(yaml.safe_dump({**base(), "metadata": {"name": "other"}}))
    (given / "base" / "kustomization.yaml").write_text("resources: [job.yaml, more.yaml]\n")
    done = invoked("convert", given, "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert "kustomization.yaml:1: Kustomization: equivalent\n" in done.stderr
    assert done.stderr.endswith("Ignored: 1 Kustomization.\n")
    assert not (tmp_path / "out" / "runtimes").exists()
    done = invoked("convert", given, "-o", tmp_path / "out", "--share-runtimes")
    assert (done.exit_code, done.stderr) == (
        2, "Error: Kustomize patches the runtime of each job: leave --share-runtimes out.\n",
    )  # fmt: skip


def test_changes_are_what_has_to_be_merged() -> None:
    before = {"a": {"b": 1, "c": [1]}, "d": 2}
    after = {"a": {"b": 1, "c": [2]}, "e": 3}
    assert changes(before, after) == {"a": {"c": [2]}, "e": 3, "d": None}
    assert changes(before, before) is None
