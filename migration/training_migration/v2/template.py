"""The beginning of a JobSet: the runtime's template, what the TrainJob patches in it, and how many pods there are."""

from __future__ import annotations

from typing import Any, Final

from training_controllers.gang.resources import Amounts
from training_migration.shape import without_nulls
from training_migration.targets import FEATURES, Features, GroupResources, Target
from training_migration.v2.draft import Draft, Role, ancestor_of
from training_migration.v2.names import NODE, TRAINER
from training_migration.v2.quantities import containers_of, requests, write_canonically, write_resources
from training_migration.v2.strategic import merged

Json = dict[str, Any]

_POLICY_DEFAULTS: Final[Json] = {
    "mpi": {
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/root/.ssh",
        "runLauncherAsNode": False,
    },
    "coscheduling": {"scheduleTimeoutSeconds": 60},
    "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
}
"""What the CRDs of the runtimes fill in."""


def draft(train_job: Json, runtime: Json, target: Target, *, fixed_keys: bool) -> Draft:
    """Begin a JobSet of objects that may be changed on the way, but for the runtime, of which a snapshot is kept."""
    features = FEATURES[target]
    spec = {"suspend": False, **train_job["spec"]}
    template = without_nulls(runtime["spec"].get("template") or {})
    metadata = template.get("metadata") or {}
    labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    jobset = _with_defaults(template.get("spec") or {}, features)
    for patch in spec.get("runtimePatches") or ():
        patched = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        labels |= (patched.get("metadata") or {}).get("labels") or {}
        annotations |= (patched.get("metadata") or {}).get("annotations") or {}
        jobset = _patched(jobset, patched.get("spec") or {})
    labels |= spec.get("labels") or {}
    annotations |= spec.get("annotations") or {}
    ml_policy = _ml_policy(runtime["spec"].get("mlPolicy"))
    before = without_nulls(jobset["replicatedJobs"])
    _set_resources(jobset, ml_policy, spec, features)
    stated = _group_requests(before, jobset["replicatedJobs"], ml_policy, spec, features.group_resources)
    return Draft(
        name=train_job["metadata"]["name"],
        namespace=train_job["metadata"].get("namespace") or "default",
        spec=spec,
        runtime=runtime,
        ml_policy=ml_policy,
        pod_group_policy=_pod_group_policy(runtime["spec"].get("podGroupPolicy") or {}),
        jobset=jobset,
        roles=[Role(each, _count(each, ml_policy), stated[each["name"]]) for each in jobset["replicatedJobs"]],
        features=features,
        labels=labels,
        annotations=annotations,
        fixed_keys=fixed_keys,
    )


def _with_defaults(jobset: Json, features: Features) -> Json:
    """The template as its CRD stores it."""
    for replicated_job in jobset.setdefault("replicatedJobs", []):
        replicated_job.setdefault("replicas", 1)
        if features.jobset_groups:
            replicated_job.setdefault("groupName", "default")
        _complete(replicated_job)
    for policy in jobset.get("volumeClaimPolicies") or ():
        for claim in policy.get("templates") or ():
            write_resources(claim["spec"].get("resources"))
    if "failurePolicy" in jobset:
        jobset["failurePolicy"].setdefault("restartStrategy", "Recreate")
    return jobset


def _complete(replicated_job: Json) -> None:
    job = replicated_job.setdefault("template", {}).setdefault("spec", {})
    pod_spec = job.setdefault("template", {}).setdefault("spec", {})
    pod_spec.setdefault("containers", [])
    write_canonically(pod_spec)
    for container in containers_of(pod_spec):
        for port in container.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _patched(jobset: Json, patch: Json) -> Json:
    """The template with one patch; replicated jobs keep the runtime's order."""
    order = [each["name"] for each in jobset["replicatedJobs"]]
    result = merged(jobset, patch)
    known = [each for each in result["replicatedJobs"] if each["name"] in order]
    new = [each for each in result["replicatedJobs"] if each["name"] not in order]
    for replicated_job in new:
        _complete(replicated_job)
    return {**result, "replicatedJobs": sorted(known, key=lambda each: order.index(each["name"])) + new}


def _ml_policy(policy: Json | None) -> Json | None:
    if policy is None or "mpi" not in policy:
        return policy
    return {**policy, "mpi": {**_POLICY_DEFAULTS["mpi"], **(policy["mpi"] or {})}}


def _pod_group_policy(policy: Json) -> Json:
    result = dict(policy)
    if "coscheduling" in policy:
        result["coscheduling"] = {**_POLICY_DEFAULTS["coscheduling"], **(policy["coscheduling"] or {})}
    if topology := (policy.get("volcano") or {}).get("networkTopology"):
        result["volcano"] = {"networkTopology": {**_POLICY_DEFAULTS["networkTopology"], **topology}}
    return result


def _count(replicated_job: Json, ml_policy: Json | None) -> int:
    """Pods of a replicated job before the TrainJob has its say; the policy's number counts only for the trainer's."""
    if ancestor_of(replicated_job) == TRAINER and ml_policy is not None:
        count = ml_policy.get("numNodes")
    else:
        count = replicated_job["template"]["spec"].get("parallelism")
    return max(1 if count is None else count, 1)


def _group_requests(
    before: list[Json], after: list[Json], ml_policy: Json | None, spec: Json, resources: GroupResources
) -> dict[str, Amounts]:
    """What a pod of each replicated job requests, as the group of pods reckons it."""
    given = (spec.get("trainer") or {}).get("resourcesPerNode")
    if resources is GroupResources.GIVEN and given is not None and ml_policy is not None:
        for replicated_job in before:
            container = _training_container(replicated_job) if ancestor_of(replicated_job) == TRAINER else None
            if container is not None:
                container["resources"] = given
    jobs = after if resources is GroupResources.MERGED else before
    return {each["name"]: requests(each["template"]["spec"]["template"]["spec"]) for each in jobs}


def _set_resources(jobset: Json, ml_policy: Json | None, spec: Json, features: Features) -> None:
    """Give the TrainJob's resources to the containers that train."""
    resources = (spec.get("trainer") or {}).get("resourcesPerNode")
    if resources is None or (ml_policy is None and features.resources_need_policy):
        return
    workers_too = features.nodes_get_trainer and ((ml_policy or {}).get("mpi") or {}).get("runLauncherAsNode")
    for replicated_job in jobset["replicatedJobs"]:
        if ancestor_of(replicated_job) == TRAINER or (workers_too and replicated_job["name"] == NODE):
            container = _training_container(replicated_job)
            if container is not None:
                container["resources"] = _resources(container.get("resources") or {}, resources, features)
                write_resources(container["resources"])


def _training_container(replicated_job: Json) -> Json | None:
    containers = replicated_job["template"]["spec"]["template"]["spec"]["containers"]
    return next((each for each in containers if each["name"] == NODE), None)


def _resources(template: Json, given: Json, features: Features) -> Json:
    blocks = {name: dict(each) for name, each in given.items() if name in ("limits", "requests") and each}
    if not features.merges_resources:
        return blocks or template
    return {**template, **{name: {**(template.get(name) or {}), **each} for name, each in blocks.items()}}
