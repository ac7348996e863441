"""What becomes of a job, by one function for every verb that says so: its conversion, with all that is found in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from training_migration.convert import convert
from training_migration.convert.assemble import with_losses
from training_migration.convert.conversion import Conversion, Options
from training_migration.findings import Finding
from training_migration.lint import lint_v1
from training_migration.lint.suppression import ignored_by_annotation
from training_migration.v1_job import V1Job


def judged(job: V1Job, options: Options) -> Conversion:
    """The conversion of a job with what the rules find in the job next to what the conversion notes itself."""
    conversion = convert(job, options)
    unwanted = ignored_by_annotation(job.object)
    linted = [each for each in lint_v1(job, options) if each.rule.id not in unwanted]
    findings = together(linted, conversion.findings)
    train_job = with_losses(conversion.train_job, findings) if conversion.train_job else conversion.train_job
    return replace(conversion, findings=findings, train_job=train_job)


def together(linted: Iterable[Finding], converted: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is found in a job and its conversion, by rule.

    Of a rule that both apply the conversion knows more: what it has fixed. What it does not speak of but is said to
    fix is fixed.
    """
    known = tuple(converted)
    noted = {each.rule.id for each in known}
    alone = (replace(each, fixed=each.rule.converted) for each in linted if each.rule.id not in noted)
    return tuple(sorted((*known, *alone), key=lambda each: each.rule.id))
