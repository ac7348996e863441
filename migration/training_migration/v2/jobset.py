"""The JobSet: as Trainer submits it, then with what JobSet's admission fills in and rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from training_migration.v2.claims import complete_claims
from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.draft import Draft, put_ports
from training_migration.v2.names import JOBSET_API
from training_migration.v2.quantities import containers_of

Json = dict[str, Any]

_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_LONGEST: Final = 63
_RANDOM_END: Final = "-abcde"
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def submitted(draft: Draft) -> Json:
    """The JobSet of a finished draft."""
    for role in draft.roles:
        role.replicated_job["template"]["spec"] |= {"parallelism": role.count, "completions": role.count}
        template = role.replicated_job["template"]["spec"]["template"]
        _extend(template, "labels", draft.pod_labels)
        _extend(template, "annotations", draft.pod_annotations)
        for container in containers_of(role.pod_spec) if draft.features.init_ports else role.pod_spec["containers"]:
            if ports := list(container.get("ports") or ()):
                put_ports(container, ports, draft.features)
    jobset = draft.owned(JOBSET_API, "JobSet", draft.name, spec={**draft.jobset, "suspend": draft.spec["suspend"]})
    _extend(jobset, "labels", draft.labels)
    _extend(jobset, "annotations", draft.annotations)
    return jobset


def _extend(holder: Json, block: str, more: dict[str, str]) -> None:
    if more:
        metadata = holder.setdefault("metadata", {})
        metadata[block] = {**(metadata.get(block) or {}), **more}


def admitted(jobset: Json) -> Json:
    """With the defaults of JobSet's CRD and webhook; raises Denied for what they do not let in."""
    spec = jobset["spec"]
    for replicated_job in spec["replicatedJobs"]:
        job = replicated_job["template"]["spec"]
        job.setdefault("completionMode", "Indexed")
        pod_spec = job["template"]["spec"]
        pod_spec["restartPolicy"] = pod_spec.get("restartPolicy") or "OnFailure"
        for container in containers_of(pod_spec):
            for port in container.get("ports") or ():
                port.setdefault("protocol", "TCP")
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    network = {"enableDNSHostnames": True, "publishNotReadyAddresses": True, **(spec.get("network") or {})}
    spec["network"] = network
    for position, rule in enumerate((spec.get("failurePolicy") or {}).get("rules") or ()):
        rule["name"] = rule.get("name") or f"failurePolicyRule{position}"
    for denied in _violations(jobset):
        raise denied
    complete_claims(jobset)
    return jobset


def _violations(jobset: Json) -> Iterator[Denied]:
    spec, path = jobset["spec"], "spec.template.spec"
    jobs = spec["replicatedJobs"]
    names = [each["name"] for each in jobs]
    subdomain = spec["network"].get("subdomain") or ""
    if subdomain and not _is_label(subdomain):
        yield Denied(f"{path}.network.subdomain", f"{subdomain} is no name for a Service of at most 63 characters")
    for holder in (jobset["metadata"], *((each["template"].get("metadata") or {}) for each in jobs)):
        if _EXCLUSIVE in (holder.get("annotations") or {}):
            yield NotPredicted(
                f"spec.template.metadata.annotations[{_EXCLUSIVE}]", "where JobSet puts pods is not predicted"
            )
    for position, job in enumerate(jobs):
        yield from _violations_of(
            jobset["metadata"]["name"], job, names[: position + 1], f"{path}.replicatedJobs[{position}]"
        )
    targets = spec["successPolicy"].get("targetReplicatedJobs") or ()
    for rule in (spec.get("failurePolicy") or {}).get("rules") or ():
        targets = [*targets, *(rule.get("targetReplicatedJobs") or ())]
    for target in targets:
        if target not in names:
            yield Denied(path, f"a policy names the replicated job {target}, which does not exist")


def _violations_of(name: str, job: Json, earlier: list[str], path: str) -> Iterator[Denied]:
    if job.get("dependsOn") and len(earlier) == 1:
        yield Denied(f"{path}.dependsOn", "the first replicated job cannot depend on another one")
    for dependency in job.get("dependsOn") or ():
        if dependency["name"] not in earlier:
            yield Denied(f"{path}.dependsOn", f"{dependency['name']} must come before {job['name']}")
    last_job = f"{name}-{job['name']}-{job['replicas'] - 1}"
    longest = last_job
    if job["template"]["spec"]["completionMode"] == "Indexed":
        longest = f"{last_job}-{job['template']['spec']['completions'] - 1}{_RANDOM_END}"
    if not _is_label(longest):
        fits = _LONGEST - (len(longest) - len(name))
        what = f"its pods are called {longest} with {len(longest)} characters" if len(longest) > _LONGEST else longest
        yield Denied("metadata.name", f"{name} is no name for this job: {what}; at most {fits} characters fit here")
    pod_spec = job["template"]["spec"]["template"]["spec"]
    if not pod_spec["containers"]:
        yield Denied(f"{path}.template.spec.template.spec.containers", "there must be one at least")
    for container in containers_of(pod_spec):
        ports = [(each["containerPort"], each["protocol"]) for each in container.get("ports") or ()]
        if len(ports) != len(set(ports)):
            message = f"v2 writes ports of container {container['name']} over each other; give each a name and a number"
            yield Denied(f"{path}.template.spec.template.spec.containers", message)


def _is_label(name: str) -> bool:
    return len(name) <= _LONGEST and _LABEL.fullmatch(name) is not None
