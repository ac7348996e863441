"""Volumes that a JobSet claims for all its pods together (`volumeClaimPolicies`)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from training_migration.v2.denied import Denied
from training_migration.v2.identity import owned_by
from training_migration.v2.names import JOBSET_API, JOBSET_LABEL
from training_migration.v2.quantities import containers_of

Json = dict[str, Any]

_LONGEST: Final = 63


def claims(jobset: Json) -> Iterator[Json]:
    """The claims, in order; those that are kept have no owner."""
    metadata = jobset["metadata"]
    for policy in jobset["spec"].get("volumeClaimPolicies") or ():
        for template in policy.get("templates") or ():
            given = template.get("metadata") or {}
            own: Json = {
                "name": _claim(jobset, template),
                "namespace": metadata["namespace"],
                "labels": {**(given.get("labels") or {}), f"{JOBSET_LABEL}jobset-name": metadata["name"]},
            }
            if given.get("annotations"):
                own["annotations"] = given["annotations"]
            if policy["retentionPolicy"]["whenDeleted"] == "Delete":
                own["ownerReferences"] = owned_by(JOBSET_API, "JobSet", metadata["namespace"], metadata["name"])
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": own,
                "spec": deepcopy(template["spec"]),
            }


def claim_volumes(jobset: Json, pod_spec: Json) -> None:
    """Give a pod the volumes of those claims that one of its containers mounts."""
    for name, template in _templates(jobset):
        if name in _mounted(pod_spec):
            volume = {"name": name, "persistentVolumeClaim": {"claimName": _claim(jobset, template)}}
            pod_spec["volumes"] = [*(pod_spec.get("volumes") or ()), volume]


def complete_claims(jobset: Json) -> None:
    """Fill in what JobSet's webhook does, and raise Denied for what it does not let in."""
    for policy in jobset["spec"].get("volumeClaimPolicies") or ():
        retention = policy.setdefault("retentionPolicy", {})
        retention["whenDeleted"] = retention.get("whenDeleted") or "Delete"
    path = "spec.template.spec.volumeClaimPolicies"
    names = [name for name, _ in _templates(jobset)]
    jobs = [each["template"]["spec"]["template"]["spec"] for each in jobset["spec"]["replicatedJobs"]]
    for name, template in _templates(jobset):
        if names.count(name) > 1:
            raise Denied(path, f"two claims are called {name}")
        if len(claim := _claim(jobset, template)) > _LONGEST:
            raise Denied(path, f"the claim {claim} has {len(claim)} characters, of which {_LONGEST} may be")
        if any(volume["name"] == name for pod_spec in jobs for volume in pod_spec.get("volumes") or ()):
            raise Denied(path, f"a pod has a volume {name} of its own")
        if not any(name in _mounted(pod_spec) for pod_spec in jobs):
            raise Denied(path, f"no container mounts {name}")


def _templates(jobset: Json) -> list[tuple[str, Json]]:
    policies = jobset["spec"].get("volumeClaimPolicies") or ()
    return [
        ((template.get("metadata") or {}).get("name") or "", template)
        for policy in policies
        for template in policy.get("templates") or ()
    ]


def _claim(jobset: Json, template: Json) -> str:
    return f"{template['metadata']['name']}-{jobset['metadata']['name']}"


def _mounted(pod_spec: Json) -> set[str]:
    return {mount["name"] for each in containers_of(pod_spec) for mount in each.get("volumeMounts") or ()}
