"""`lint_v2`: what the rules find in runtimes and TrainJobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from training_api.documents import Document
from training_migration.findings import Finding
from training_migration.lint import pods, templates
from training_migration.lint.entry_point import NOTHING, EntryPoint
from training_migration.lint.inline import inline_findings
from training_migration.lint.v2 import fields, launch, topology
from training_migration.lint.v2.subject import RUNTIMES, TRAIN_JOBS, Runtime, TrainJob
from training_migration.lint.variables import FIXED_PORT, POLICY_OF, V1_VARIABLES
from training_migration.runs.templates import is_runtime, is_train_job
from training_migration.targets import Target
from training_migration.v2.lookup import Runtimes
from training_migration.v2.stock import stock

MODULES = (templates, launch, topology, fields)
"""Those with checks."""
TRAIN_JOB: Final = "TrainJob"
_OF_FIXED_PORTS: Final = frozenset({"MIG106"})
"""Rules on ports that a runtime without such a policy may have for itself."""
_OWN_PORTS: Final = frozenset({"WORKER_PORT"})
"""Of XGBoost, where each worker listens for itself: the number of v1 is as good as any."""
KIND_OF: Final = {policy: kind for kind, policy in POLICY_OF.items()}
"""The kind of v1 that a policy is for."""


def is_v2(obj: Mapping[str, Any]) -> bool:
    """Whether this is a runtime or a TrainJob."""
    return is_runtime(obj) or is_train_job(obj)


def lint_v2(
    documents: Iterable[Document],
    target: Target,
    *,
    scripts: Sequence[tuple[str, str]] = (),
    entry: EntryPoint = NOTHING,
) -> list[Finding]:
    """What is found in the runtimes and TrainJobs among these documents, in their order; each has the right shape.

    `scripts` are path and text of those that they may run, `entry` is what their image starts.
    """
    given = [each for each in documents if each.object is not None and is_v2(each.object)]
    jobs = iter(train_jobs(given, target, scripts=scripts, entry=entry))
    found: list[Finding] = []
    for document in given:
        obj = document.object or {}
        if obj["kind"] == TRAIN_JOB:
            job = next(jobs)
            of_one = [*TRAIN_JOBS(job), *_inside_job(job)]
        else:
            runtime = Runtime(obj, target)
            of_one = [*RUNTIMES(runtime), *_inside_runtime(runtime)]
        unique = dict.fromkeys(sorted(of_one, key=lambda each: each.rule.id))
        found += [replace(each, source=document.source, line=document.line) for each in unique]
    return found


def train_jobs(
    documents: Iterable[Document],
    target: Target,
    *,
    scripts: Sequence[tuple[str, str]] = (),
    entry: EntryPoint = NOTHING,
) -> list[TrainJob]:
    """The TrainJobs among these documents, each with its runtime: a given one, else one that v2 ships."""
    given = [each for each in documents if each.object is not None and is_v2(each.object)]
    runtimes = Runtimes(given, stock(target))
    found = []
    for each in given:
        job = each.object or {}
        if job["kind"] == TRAIN_JOB:
            known = runtimes.of(job, each.source)
            found.append(TrainJob(job, target, None if known is None else Runtime(known, target), scripts, entry))
    return found


def _inside_job(job: TrainJob) -> Iterable[Finding]:
    """What the rules for scripts find in the command line and the variables of a TrainJob."""
    container = {**{key: job.trainer.get(key) for key in ("command", "args", "env")}, "name": "node"}
    env = frozenset(str(each.get("name")) for each in job.container.get("env") or ())
    inside = inline_findings(
        {"containers": [container]},
        "",
        kind=KIND_OF.get(job.policy),
        launched=job.launcher.sets_ranks,
        given=env,
        replaced=_OWN_PORTS,
    )
    found = [replace(each, path=f"spec.trainer{each.path.removeprefix('.containers[0]')}") for each in inside]
    return [each for each in found if job.policy in FIXED_PORT or each.rule.id not in _OF_FIXED_PORTS]


def _inside_runtime(runtime: Runtime) -> Iterable[Finding]:
    """The same in the containers of a runtime, without what depends on a TrainJob's variables."""
    for each in runtime.replicated:
        own = {name for container in pods.containers(each.pod) for name in pods.env_names(container)}
        given = frozenset(own).union(*V1_VARIABLES.values())
        for finding in inline_findings(
            each.pod, each.pod_path, kind=KIND_OF.get(runtime.policy), launched=False, given=given, replaced=_OWN_PORTS
        ):
            if runtime.policy in FIXED_PORT or finding.rule.id not in _OF_FIXED_PORTS:
                yield finding
