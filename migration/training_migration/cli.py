"""The group `training-operator migrate`; each verb is a module of `commands`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from training_migration.exits import BY_VERB, MEANINGS, Failure
from training_operator.lazy_commands import Lazy, LazyGroup

COMMANDS: Final = "training_migration.commands"
VERBS: Final = {
    "code": Lazy(f"{COMMANDS}.code:code", "Rewrite Python code of the v1 SDK for that of Trainer v2."),
    "compare": Lazy(f"{COMMANDS}.compare:compare", "Compare two recorded runs, one of v1 and one of v2."),
    "convert": Lazy(f"{COMMANDS}.convert:convert", "Convert v1 jobs to TrainJobs with their runtimes."),
    "diff": Lazy(f"{COMMANDS}.diff:diff", "Compare the pods of v1 jobs with those of their TrainJobs."),
    "lint": Lazy(f"{COMMANDS}.lint:lint_command", "Check jobs and scripts for what breaks on Trainer v2."),
    "probe": Lazy(f"{COMMANDS}.probe:probe", "Test rendezvous and DNS of the pods of a job, without training."),
    "render": Lazy(f"{COMMANDS}.render:render", "Render the objects and pods of jobs on v1 and on v2."),
    "report": Lazy(f"{COMMANDS}.report:report", "Merge JSON results of other commands into one document."),
    "run": Lazy(f"{COMMANDS}.run:run", "Run a job on v1 and then on v2, and compare the two runs."),
    "survey": Lazy(f"{COMMANDS}.survey:survey", "Analyze all v1 jobs of files or a cluster, and rank them."),
    "verify": Lazy(f"{COMMANDS}.verify:verify", "Compare what Trainer v2 creates for jobs with the prediction."),
}
EXAMPLES: Final[Mapping[str, str]] = {
    "code": "pipelines/ --write",
    "compare": "runs/v1.json runs/v2.json",
    "convert": "jobs/ -o v2/",
    "diff": "jobs/mnist.yaml v2/mnist.yaml",
    "lint": "jobs/mnist.yaml --script train.py",
    "probe": "jobs/mnist.yaml",
    "render": "jobs/mnist.yaml --side both --as-process",
    "report": "survey.json diff.json -o report.html",
    "run": "jobs/mnist.yaml --metric 'loss ([0-9.]+)' --tolerance 0.01 --records runs",
    "survey": "jobs/ --format html -o fleet.html",
    "verify": "v2/mnist.yaml -n team-a",
}
"""Arguments of each verb, for its help."""


def epilog(verb: str) -> str:
    """What the help of a verb ends with: an example, and how it can end. Click leaves paragraphs after \\b alone."""
    codes = "\n".join(f"  {code.value:<4}{MEANINGS[code]}" for code in BY_VERB[verb])
    return f"\b\nExample:\n  training-operator migrate {verb} {EXAMPLES[verb]}\n\n\b\nExit status:\n{codes}"


class Verbs(LazyGroup):
    """Ends with the code and the sentence of a failure."""

    interrupted = "Interrupted."

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb; its help lists its exit codes."""
        if (command := super().get_command(ctx, cmd_name)) is not None and cmd_name in BY_VERB:
            command.epilog = epilog(cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            click.echo(f"Error: {failure}", err=True)
            ctx.exit(failure.code)


@click.group(cls=Verbs, lazy=VERBS)
def migrate() -> None:
    """Move training jobs from v1 to Trainer v2, and know that the same training happens."""
