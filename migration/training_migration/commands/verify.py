"""`training-operator migrate verify`: whether a cluster's own controllers build what is predicted."""

from __future__ import annotations

from typing import Any

import cloup

from training_migration.commands import flags, run_flags


@cloup.command()
@flags.inputs
@flags.target
@cloup.option(
    "-n", "--namespace", required=True, help="Where objects are created and deleted again: best an empty one."
)
@flags.KUBECONFIG
@flags.CONTEXT
@cloup.option("--dry-run", is_flag=True, help="Ask admission only: nothing is stored.")
@cloup.option("--unsuspended", is_flag=True, help="Compare pods too. Where there are nodes the training begins!")
@run_flags.limit(60.0, "a job")
@flags.formats("text", "json")
@flags.output
def verify(**options: Any) -> None:
    """Compare the objects that Trainer v2 creates in a cluster for the jobs in PATH... with the prediction.

    v1 jobs are converted first; TrainJobs are taken as they are, with a TrainingRuntime of the files or of the cluster.
    Everything is created suspended, so that no pod starts, and deleted again.
    """
    flags.carry_out("training_migration.verbs.verify:verify", options)
