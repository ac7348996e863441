"""What the JobSet controller makes of a JobSet: its Service and its Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1
from typing import Any, Final

from training_migration.shape import without_nulls
from training_migration.targets import Features
from training_migration.v2.claims import claim_volumes
from training_migration.v2.identity import owned_by, uid
from training_migration.v2.names import JOBSET_API, JOBSET_LABEL

Json = dict[str, Any]

_OF_GROUPS: Final = ("jobset-uid", "group-name", "group-replicas", "job-group-index")
"""Marks that only newer releases of JobSet give."""


def subdomain(jobset: Json) -> str:
    """Of the pods; empty where the JobSet wants no host names."""
    network = jobset["spec"]["network"]
    return (network.get("subdomain") or jobset["metadata"]["name"]) if network["enableDNSHostnames"] else ""


def service(jobset: Json) -> Json | None:
    """The headless Service that makes names of pods."""
    if not (name := subdomain(jobset)):
        return None
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": jobset["spec"]["network"]["publishNotReadyAddresses"],
        "selector": {f"{JOBSET_LABEL}jobset-name": jobset["metadata"]["name"]},
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(jobset, name), "spec": spec}


def jobs(jobset: Json, features: Features) -> Iterator[tuple[Json, int, Json]]:
    """Each replicated job with the number of a Job of it and the Job, in the order of their creation."""
    for replicated_job in jobset["spec"]["replicatedJobs"]:
        for index in range(replicated_job["replicas"]):
            name = f"{jobset['metadata']['name']}-{replicated_job['name']}-{index}"
            marks = _marks(jobset, replicated_job, index, name)
            if not features.jobset_groups:
                marks = {key: mark for key, mark in marks.items() if key not in _OF_GROUPS}
            labels = {JOBSET_LABEL + key: str(mark) for key, mark in marks.items()}
            yield replicated_job, index, _job(jobset, replicated_job, name, labels)


def _job(jobset: Json, replicated_job: Json, name: str, marks: dict[str, str]) -> Json:
    template = without_nulls(replicated_job["template"])
    metadata = _marked(template.get("metadata") or {}, marks) | _metadata(jobset, name)
    spec: Json = template["spec"]
    spec["suspend"] = bool(jobset["spec"].get("suspend"))
    pod = spec["template"]
    pod["metadata"] = _marked(pod.get("metadata") or {}, marks)
    if domain := subdomain(jobset):
        pod["spec"]["subdomain"] = domain
    claim_volumes(jobset, pod["spec"])
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    return _with_selector(job)


def _with_selector(job: Json) -> Json:
    """With the labels by which the API server lets a Job find its pods."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    number = uid("Job", namespace, name)
    own = {
        prefix + key: value
        for prefix in ("", "batch.kubernetes.io/")
        for key, value in (("job-name", name), ("controller-uid", number))
    }
    template = job["spec"]["template"]
    template["metadata"]["labels"] = {**own, **template["metadata"]["labels"]}
    job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": number}}
    return job


def _metadata(jobset: Json, name: str) -> Json:
    owner, namespace = jobset["metadata"]["name"], jobset["metadata"]["namespace"]
    return {"name": name, "namespace": namespace, "ownerReferences": owned_by(JOBSET_API, "JobSet", namespace, owner)}


def _marks(jobset: Json, replicated_job: Json, index: int, name: str) -> dict[str, object]:
    """Where a Job stands in its JobSet; labels and annotations alike."""
    all_jobs = jobset["spec"]["replicatedJobs"]
    before = all_jobs[: all_jobs.index(replicated_job)]
    group = replicated_job.get("groupName")
    metadata = jobset["metadata"]
    marks: dict[str, object] = {
        "jobset-name": metadata["name"],
        "jobset-uid": uid("JobSet", metadata["namespace"], metadata["name"]),
        "replicatedjob-name": replicated_job["name"],
        "restart-attempt": 0,
        "replicatedjob-replicas": replicated_job["replicas"],
        "global-replicas": sum(each["replicas"] for each in all_jobs),
        "job-index": index,
        "job-key": sha1(f"{metadata['namespace']}/{name}".encode(), usedforsecurity=False).hexdigest(),
        "job-global-index": index + sum(each["replicas"] for each in before),
        "group-name": group,
        "group-replicas": sum(each["replicas"] for each in all_jobs if each.get("groupName") == group),
        "job-group-index": index + sum(each["replicas"] for each in before if each.get("groupName") == group),
    }
    if (coordinator := jobset["spec"].get("coordinator")) is not None:
        place = f"{coordinator.get('jobIndex', 0)}-{coordinator.get('podIndex', 0)}"
        domain = jobset["spec"]["network"].get("subdomain") or metadata["name"]
        marks["coordinator"] = f"{metadata['name']}-{coordinator['replicatedJob']}-{place}.{domain}"
    return marks


def _marked(metadata: Json, marks: dict[str, str]) -> Json:
    return {block: {**(metadata.get(block) or {}), **marks} for block in ("labels", "annotations")}
