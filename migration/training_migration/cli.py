"""The group `training-operator migrate`; each verb is a module of `commands`."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.commands.compare import compare
from training_migration.commands.convert import convert
from training_migration.commands.diff import diff
from training_migration.commands.lint import lint_command
from training_migration.commands.probe import probe
from training_migration.commands.render import render
from training_migration.commands.report import report
from training_migration.commands.run import run
from training_migration.commands.survey import survey
from training_migration.commands.verify import verify
from training_migration.exits import Exit, Failure


class Verbs(cloup.Group):
    """Ends with the code and the sentence of a failure, and after Ctrl-C with 130."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            click.echo(f"Error: {failure}", err=True)
            ctx.exit(failure.code)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(Exit.INTERRUPTED)


@click.group(cls=Verbs)
def migrate() -> None:
    """Move training jobs from v1 to Trainer v2, and know that the same training happens."""


migrate.add_command(compare)
migrate.add_command(convert)
migrate.add_command(diff)
migrate.add_command(lint_command)
migrate.add_command(probe)
migrate.add_command(render)
migrate.add_command(report)
migrate.add_command(run)
migrate.add_command(survey)
migrate.add_command(verify)
