"""A job on a runtime that is there already, v2's own or the platform's, where nothing of the job is lost by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from training_migration.convert.assemble import with_losses
from training_migration.convert.context import Json
from training_migration.convert.conversion import Conversion
from training_migration.convert.lifecycle import DEFAULT_LIMIT, UNLIMITED
from training_migration.convert.portable import (
    MERGED,
    PULL_POLICY,
    Portable,
    portable,
    train_job_spec,
)
from training_migration.findings import Finding
from training_migration.rules import found
from training_migration.v2.classes import default_pull_policy
from training_migration.v2.lookup import namespace_of
from training_migration.v2.names import RUNTIME

POLICY: Final = "the policy"


def fitted(conversion: Conversion, runtimes: Sequence[Json]) -> Conversion:
    """The job on the first of these runtimes that does; else as it is, with the reason."""
    if conversion.rejected or conversion.runtime is None:
        return conversion
    ours = portable(conversion.runtime, conversion.train_job, conversion.options.target)
    if ours is None:
        return _not_fitted(conversion, ["its several groups of pods"])
    reasons: list[list[str]] = []
    for runtime in runtimes:
        theirs = portable(runtime, {"spec": {}}, conversion.options.target)
        of_another = runtime["kind"] == RUNTIME and namespace_of(runtime) != namespace_of(conversion.train_job)
        if theirs is None or of_another:
            continue
        reasons.append(list(_lost(ours, theirs)))
        if not reasons[-1]:
            return _on(conversion, ours, theirs, runtime)
    # One of another policy has this one reason, and says nothing of what else would be lost.
    nearest = min(reasons, key=lambda lost: (lost[0].startswith(POLICY), len(lost)), default=["its namespace"])
    return _not_fitted(conversion, nearest)


def _not_fitted(conversion: Conversion, lost: Sequence[str]) -> Conversion:
    text = f"the job has another runtime, because the existing one would lose {', '.join(lost)}."
    return _with_findings(conversion, [*conversion.findings, _finding(conversion, "MIG008", text, fixed=True)])


def _finding(conversion: Conversion, rule: str, text: str, path: str = "", *, fixed: bool = False) -> Finding:
    return found(rule, text, path, source=conversion.job.source, line=conversion.job.line, fixed=fixed)


def _with_findings(conversion: Conversion, findings: Iterable[Finding]) -> Conversion:
    kept = tuple(findings)
    return replace(conversion, findings=kept, train_job=with_losses(conversion.train_job, kept))


def _on(conversion: Conversion, ours: Portable, theirs: Portable, runtime: Json) -> Conversion:
    own = {entry: value for entry, value in ours.entries.items() if theirs.entries.get(entry) != value}
    reference = {"kind": runtime["kind"], "name": runtime["metadata"]["name"]}
    spec = dict(conversion.train_job["spec"])
    spec["trainer"] = {"numNodes": ours.nodes, **(spec.get("trainer") or {})}
    train_job = {**conversion.train_job, "spec": train_job_spec(ours, own, spec, reference)}
    limit = _job(theirs).get("backoffLimit", DEFAULT_LIMIT)
    findings = list(conversion.findings)
    if _job(ours).get("backoffLimit") == UNLIMITED != limit:
        path = "spec.runPolicy.backoffLimit"
        text = f"v1 restarts without limit; a Job of runtime {reference['name']} gives up after {limit} restarts."
        findings = [each for each in findings if each.rule.id != "MIG301"]
        findings.append(_finding(conversion, "MIG301", text, path))
    return _with_findings(replace(conversion, train_job=train_job, runtime=None), findings)


def _lost(ours: Portable, theirs: Portable) -> Iterator[str]:
    """What the runtime of another would change of the job, beyond what a TrainJob can say."""
    spec, other = ours.rest, theirs.rest
    if _policy(spec) != _policy(other):
        yield f"{POLICY} {' '.join(_policy(spec)) or 'plain'}"
        return
    if spec.get("podGroupPolicy") != other.get("podGroupPolicy"):
        yield "the pod group"
    yield from _missing(spec["template"]["spec"], other["template"]["spec"], {"replicatedJobs"})
    if (spec["template"].get("metadata") or {}) != (other["template"].get("metadata") or {}):
        yield "the metadata of the JobSet"
    job, job_of_other = _job(ours), _job(theirs)
    if (limit := job.get("backoffLimit")) not in (UNLIMITED, job_of_other.get("backoffLimit", DEFAULT_LIMIT)):
        yield f"the limit of {limit} restarts"
    yield from _missing(job, job_of_other, {"backoffLimit", "template"})
    pod, pod_of_other = job["template"]["spec"], job_of_other["template"]["spec"]
    if pod.get("restartPolicy", "OnFailure") != pod_of_other.get("restartPolicy", "OnFailure"):
        yield f"restart policy {pod.get('restartPolicy')}"
    yield from _missing(pod, pod_of_other, {"restartPolicy", "containers"})
    main, main_of_other = pod["containers"][0], pod_of_other["containers"][0]
    image = str(ours.entries.get(("image", ""), ""))
    default = {PULL_POLICY} if main.get(PULL_POLICY) == default_pull_policy(image) else set()
    for field in _missing(main, main_of_other, {"name", *default}):
        yield f"{field} of the container"
    if pod["containers"][1:] != pod_of_other["containers"][1:]:
        yield "further containers"
    yield from _mixed(ours, theirs)


def _mixed(ours: Portable, theirs: Portable) -> Iterator[str]:
    """What the two would make together, where a TrainJob cannot take away what a runtime has."""
    for entry, value in theirs.entries.items():
        field, name = entry
        if field == "command" and entry not in ours.entries:
            yield "the command of the image"
        elif field == "command" and ("args" in value) > ("args" in ours.entries[entry]):
            yield "a command without arguments"
        elif field == "resources" and _keys(value) - _keys(ours.entries.get(entry) or {}):
            yield "resources without limits of their own"
        elif field in MERGED and entry in ours.entries and ours.entries[entry] != value:
            yield f"{field} {name}".strip()


def _keys(resources: Json) -> set[tuple[str, str]]:
    return {(kind, name) for kind, amounts in resources.items() if isinstance(amounts, dict) for name in amounts}


def _missing(ours: Json, theirs: Json, except_for: set[str]) -> Iterator[str]:
    yield from (name for name in sorted(ours.keys() - except_for) if ours[name] != theirs.get(name))


def _policy(spec: Json) -> list[str]:
    return sorted(set(spec.get("mlPolicy") or ()) - {"numNodes"})


def _job(found: Portable) -> dict[str, Any]:
    job: Json = found.rest["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    return job
