"""The pods that the Job controller makes of a Job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from training_migration.rendering import RenderedPod
from training_migration.v2.draft import ancestor_of
from training_migration.v2.identity import name_end, owned_by
from training_migration.v2.names import COMPLETION_INDEX, CONTAINER_OF, DEFAULT_CONTAINER, INDEX_VARIABLE, NODE
from training_migration.v2.quantities import containers_of

Json = dict[str, Any]

_LONGEST_STEM: Final = 58


def pods(replicated_job: Json, number: int, job: Json) -> Iterator[RenderedPod]:
    """One pod for each index of a Job, as if it were not suspended."""
    count = job["spec"]["completions"]
    template = json.dumps(job["spec"]["template"])  # read again for each pod: copies cost ten times as much
    for index in range(count):
        pod = _pod(job, index, json.loads(template))
        spec = pod["spec"]
        name = f"{spec['hostname']}.{spec['subdomain']}" if spec.get("hostname") and spec.get("subdomain") else ""
        container = main_container(replicated_job)
        yield RenderedPod(replicated_job["name"], number * count + index, container, name, pod)


def main_container(replicated_job: Json) -> str:
    """The container that trains: that of the ancestor, one called `node`, the one for `kubectl logs`, or the first."""
    template = replicated_job["template"]["spec"]["template"]
    names: list[str] = [each["name"] for each in template["spec"]["containers"]]
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    wanted = (CONTAINER_OF.get(ancestor_of(replicated_job)), NODE, annotations.get(DEFAULT_CONTAINER))
    return next((each for each in wanted if each in names), names[0])


def _pod(job: Json, index: int, template: Json) -> Json:
    metadata, spec = template["metadata"], template["spec"]
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    stem = f"{name}-"
    if job["spec"]["completionMode"] == "Indexed":
        stem = f"{name[: _LONGEST_STEM - len(f'-{index}-')]}-{index}-"
        for block in ("labels", "annotations"):
            metadata[block] = {**(metadata.get(block) or {}), COMPLETION_INDEX: str(index)}
        spec["hostname"] = f"{name}-{index}"
        for container in containers_of(spec):
            _add_index(container)
    generated = {
        "name": stem + name_end(f"{namespace}/{stem}{index}"),
        "generateName": stem,
        "namespace": namespace,
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": owned_by("batch/v1", "Job", namespace, name),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | generated, "spec": spec}


def _add_index(container: Json) -> None:
    """Add the variable, last of all, unless there is one of its name."""
    variables = container.setdefault("env", [])
    if all(each["name"] != INDEX_VARIABLE for each in variables):
        field = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
        variables.append({"name": INDEX_VARIABLE, "valueFrom": field})
