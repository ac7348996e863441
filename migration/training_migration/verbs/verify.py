"""`training-operator migrate verify`: whether a cluster's own controllers build what is predicted."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from training_migration.cluster import connected
from training_migration.exits import Exit, Failure, worst
from training_migration.report.verify import as_json, as_text, line
from training_migration.runs.api import Api
from training_migration.runs.foreground import finish
from training_migration.targets import Target
from training_migration.verbs.output import write
from training_migration.verify.outcome import Subject, Verification
from training_migration.verify.subjects import subjects
from training_migration.verify.verify import How, other_release
from training_migration.verify.verify import verify as verify_subjects


def verify(
    *,
    paths: tuple[str, ...],
    target: Target,
    namespace: str,
    kubeconfig: str,
    cluster_context: str,
    dry_run: bool,
    unsuspended: bool,
    limit: float,
    style: str,
    output: Path | None,
) -> Exit:
    """Compare the objects that Trainer v2 creates in a cluster for the jobs in PATH... with the prediction."""
    if dry_run and unsuspended:
        raise Failure("--dry-run and --unsuspended are mutually exclusive.", Exit.USAGE)
    how = How(target, namespace, unsuspended, dry_run, limit)
    found = finish(_verified(subjects(paths, target), how, kubeconfig, cluster_context))
    terminal = output is None and sys.stdout.isatty()
    text = json.dumps(as_json(found, how), indent=2) if style == "json" else as_text(found, terminal=terminal)
    write(text, output)
    return worst(each.code for each in found)


async def _verified(asked: Sequence[Subject], how: How, kubeconfig: str, context: str) -> list[Verification]:
    done = 0

    def progress(each: Verification) -> None:
        nonlocal done
        done += 1
        click.echo(f"{done}/{len(asked)} {line(each)}", err=True)

    async with connected(kubeconfig, context) as transport:
        api = Api(transport)
        if release := await other_release(api, how.target):
            click.echo(f"The cluster says that it has Trainer {release}; predicted is {how.target.value}.", err=True)
        return await verify_subjects(api, asked, how, progress)
