"""Patches that `migrate convert` writes into kustomizations, applied by Kustomize itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml
from click.testing import CliRunner
from e2e.harness.binaries import KUBERNETES, programs
from e2e.support import marks

from training_migration.cli import migrate
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.targets import Target
from training_migration.v1_job import v1_job

pytestmark = marks.bare  # it needs no API server, but the kubectl that is built for one

TARGET = {"kind": "XGBoostJob", "name": "trees"}
REPLICAS = {"apiVersion": "kubeflow.org/v1", "kind": "XGBoostJob", "metadata": {"name": "trees"},
            "spec": {"xgbReplicaSpecs": {"Worker": {"replicas": 4}}}}  # fmt: skip
IMAGE = "/spec/xgbReplicaSpecs/{}/template/spec/containers/0/image"
IMAGES = [{"op": "replace", "path": IMAGE.format(name), "value": "example.com/x:2"} for name in ("Master", "Worker")]


def test_kustomize_builds_what_the_patched_job_converts_to(tmp_path: Path) -> None:
    def job(workers: int, image: str) -> dict[str, object]:
        container = {"name": "xgboost", "image": image, "command": ["python", "train.py"]}
        replicas = {name: {"replicas": count, "template": {"spec": {"containers": [container]}}}
                    for name, count in (("Master", 1), ("Worker", workers))}  # fmt: skip
        return {**REPLICAS, "spec": {"xgbReplicaSpecs": replicas}}

    patches = [{"path": "replicas.yaml"}, {"patch": json.dumps(IMAGES), "target": TARGET}]
    files = {
        "base/job.yaml": job(2, "example.com/x:1"),
        "base/kustomization.yaml": {"resources": ["job.yaml"]},
        "prod/replicas.yaml": REPLICAS,
        "prod/kustomization.yaml": {"resources": ["../base"], "patches": patches},
    }
    for name, content in files.items():
        (tmp_path / "v1" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "v1" / name).write_text(yaml.safe_dump(content))
    kubectl = programs([KUBERNETES])["kubectl"]

    def kustomized(side: str) -> list[object]:
        command = [str(kubectl), "kustomize", str(tmp_path / side / "prod")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60.0)
        return sorted(yaml.safe_load_all(done.stdout), key=lambda each: str(each["kind"]))

    assert kustomized("v1") == [job(4, "example.com/x:2")]
    words = ["convert", "--target", "2.3", str(tmp_path / "v1"), "-o", str(tmp_path / "v2")]
    done = CliRunner().invoke(migrate, words)
    assert done.exit_code == 0, done.output
    # It has no patches, so that it stays as it is.
    (tmp_path / "v2" / "base" / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["job.yaml"]}))
    conversion = convert(v1_job(job(4, "example.com/x:2")), Options(Target.V2_3))
    assert kustomized("v2") == sorted(conversion.objects, key=lambda each: str(each["kind"]))
