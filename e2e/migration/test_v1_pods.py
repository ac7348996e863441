"""The operator makes the pods that `render_v1` predicts, for every example, whatever the API server adds to them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from e2e.harness.client import eventually
from e2e.support import marks
from e2e.support.every_kind import PLUGIN
from e2e.training.examples import EXAMPLES

from training_api.registry import KINDS
from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
from training_migration.render_v1 import render_v1
from training_migration.runs.api import Api
from training_migration.runs.sightings import place_of
from training_migration.v1_job import is_v1_job, v1_job

pytestmark = marks.local  # local clusters of its own

Json = dict[str, Any]
FILES = sorted(str(file.relative_to(EXAMPLES)) for file in EXAMPLES.glob("*/*.yaml") if file.parent != PLUGIN)
LIMIT = 60.0


def job_of(file: str) -> Json:
    """The job of an example, whose programs do nothing."""
    documents = yaml.safe_load_all((EXAMPLES / file).read_text())
    [job] = [copy.deepcopy(each) for each in documents if is_v1_job(each)]
    for field, replicas in job["spec"].items():
        if field.endswith("ReplicaSpecs"):
            for replica in replicas.values():
                replica["template"]["spec"]["containers"][0]["command"] = ["sleep", "600"]
                replica["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    job["metadata"]["namespace"] = "default"
    return dict(job)


def differences(predicted: Any, made: Any, path: str = "") -> Iterator[str]:
    """Where something that was predicted is not there; what has been added does not count."""
    if isinstance(predicted, dict) and isinstance(made, dict):
        for key, value in predicted.items():
            if path or key in ("metadata", "spec"):
                yield from differences(value, made.get(key), f"{path}.{key}")
    elif isinstance(predicted, list) and isinstance(made, list) and len(made) >= len(predicted):
        for index, value in enumerate(predicted):
            yield from differences(value, made[index], f"{path}[{index}]")
    elif predicted != made:
        yield f"{path}: {predicted!r} was predicted, {made!r} is there"


async def check(api: Api, file: str) -> list[str]:
    """Create the job of an example and compare its pods; return where they are not as predicted."""
    job = job_of(file)
    name, rendering = job["metadata"]["name"], render_v1(v1_job(copy.deepcopy(job)))
    made = await api.create(job)

    async def pods() -> list[Json] | None:
        found = await api.listed("v1", "Pod", "default", f"training.kubeflow.org/job-name={name}")
        return found if len(found) == len(rendering.pods) else None

    text = json.dumps(await eventually(pods, f"pods of {name}", LIMIT))
    # The job's uid is the only thing that cannot be predicted.
    by_place = {place_of(pod): pod for pod in json.loads(text.replace(made["metadata"]["uid"], str(UUID(int=0))))}
    await api.delete(made)
    return [
        f"{file} {each.role} {each.index} {difference}"
        for each in rendering.pods
        for difference in differences(each.pod, by_place[each.role, each.index])
    ]


async def test_pods_are_as_predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINING_OPERATOR_STATE", str(tmp_path / "state"))
    async with LocalCluster(ClusterOptions()) as cluster:
        api = Api(cluster.transport)
        found = [difference for file in FILES for difference in await check(api, file)]
    assert len(FILES) >= len(KINDS)
    assert not found, "\n".join(found)


def test_a_difference_is_seen() -> None:
    assert list(differences({"spec": {"a": [1]}}, {"spec": {"a": [2]}, "x": 1})) == [
        ".spec.a[0]: 1 was predicted, 2 is there"
    ]
