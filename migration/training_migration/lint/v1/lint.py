"""`lint_v1`: what the rules find in a job of v1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from training_migration.convert.conversion import Options
from training_migration.findings import Finding
from training_migration.lint import templates
from training_migration.lint.entry_point import NOTHING, EntryPoint
from training_migration.lint.inline import inline_findings
from training_migration.lint.v1 import launch, lifecycle, target, topology
from training_migration.lint.v1.subject import V1, Subject
from training_migration.lint.variables import set_by_v1
from training_migration.v1_job import V1Job

MODULES = (templates, target, launch, topology, lifecycle)
"""Those with checks."""


def lint_v1(
    job: V1Job, options: Options, *, scripts: Sequence[tuple[str, str]] = (), entry: EntryPoint = NOTHING
) -> list[Finding]:
    """What is found in a job, also in the command lines and variables of its containers.

    `scripts` are path and text of those that it may run, `entry` is what its image starts: both show what launches it.
    """
    subject = Subject(job, options, scripts, entry)
    found = V1(subject, source=job.source, line=job.line)
    # Workers without a master get no variables from v1: their own are what their processes see.
    replaced = set_by_v1(subject.kind) if subject.kind != "PyTorchJob" or subject.has_master else frozenset[str]()
    for role in subject.roles:
        launched = subject.launcher(role).sets_ranks
        inside = inline_findings(role.pod, role.pod_path, kind=subject.kind, launched=launched, replaced=replaced)
        found += [replace(each, source=job.source, line=job.line) for each in inside]
    return sorted(dict.fromkeys(found), key=lambda each: each.rule.id)
