"""The vectors of `vectors.yaml`, and how a prediction is held against them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from unit_tests.migration.v2.written import container, replicated_job, runtime, train_job

from training_migration.rendering import Rendering
from training_migration.targets import Target
from training_migration.v2.process import environment

Json = dict[str, Any]
Render = Callable[[Json, Json, Target], Rendering]

VECTORS: list[Json] = yaml.load(Path(__file__).with_name("vectors.yaml").read_text(), yaml.CSafeLoader)


def differences(vector: Json, render: Render) -> list[str]:
    """What a prediction has otherwise than the vector says; nothing for a good one."""
    rendering = render(train_job(vector.get("trainer")), _runtime(vector), Target.V2_3)
    last = rendering.pods[-1]
    variables = environment(last)
    spec = next(each for each in last.pod["spec"]["containers"] if each["name"] == last.container)
    wanted = vector.get("variables", {})
    found = {
        "hosts": [pod.hostname for pod in rendering.pods],
        "variables": {name: variables.get(name) for name in wanted},
        "absent": [name for name in vector.get("absent", ()) if name not in variables],
        "container": {name: spec.get(name) for name in vector.get("container", {})},
        "host_file": _host_file(rendering),
    }
    return [
        f"{key}: {found[key]} instead of {vector[key]}" for key in found if key in vector and vector[key] != found[key]
    ]


def _runtime(vector: Json) -> Json:
    mpi = "launcher" in vector
    node = replicated_job("node", container(**vector.get("node", {})), ancestor="" if mpi else "trainer")
    if "parallelism" in vector:
        node["template"]["spec"]["parallelism"] = vector["parallelism"]
    jobs = [node, replicated_job("launcher", container(**vector["launcher"]))] if mpi else [node]
    network = {"network": {"subdomain": vector["subdomain"]}} if "subdomain" in vector else {}
    return runtime(vector.get("policy"), template={"spec": {"replicatedJobs": jobs, **network}})


def _host_file(rendering: Rendering) -> list[str]:
    maps = [each["data"] for each in rendering.objects if each["kind"] == "ConfigMap"]
    return "".join(data.get("hostfile", "") for data in maps).splitlines()
