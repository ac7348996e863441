"""What the verbs that start pods have in common: where they run, and what of the files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.runs.both_cluster import cluster_both, new_run
from training_migration.runs.cluster import ClusterOptions
from training_migration.runs.foreground import finish
from training_migration.runs.record import EndState, RunRecord
from training_migration.runs.recording import Seen
from training_migration.runs.sides import read_sides
from training_migration.runs.what import Plan, What
from training_migration.targets import Target
from training_migration.v2.stock import stock
from training_migration.verbs.predicted import converted

NEEDS_LOCAL: Final = "runs on this machine need more packages: pip install '.[local]' in a clone of the repository"
LOCAL: Final = "local"
CLUSTER: Final = "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where jobs are run: the values of the options of `run_flags.place`."""

    where: str
    python: Path | None
    sandbox: str
    gpus: int | None
    kubeconfig: str
    context_v1: str
    context_v2: str
    namespace_v1: str
    namespace_v2: str

    def check(self, plan: Plan) -> None:
        """Raise Failure where an option is missing."""
        for side, there, namespace in (("v1", plan.v1, self.namespace_v1), ("v2", plan.v2, self.namespace_v2)):
            if self.where == CLUSTER and there is not None and not namespace:
                raise Failure(
                    f"--namespace-{side} is missing: where may its side of the run create objects?", Exit.USAGE
                )

    def run(self, plan: Plan, what: What, limit: float, settle: float) -> list[Seen]:
        """Run the sides of a plan, one after the other. Raises Failure."""
        self.check(plan)
        if self.where == CLUSTER:
            run = new_run()
            places = ((self.context_v1, self.namespace_v1), (self.context_v2, self.namespace_v2))
            v1, v2 = (ClusterOptions(self.kubeconfig, c, n, limit, settle, run) for c, n in places)
            return finish(cluster_both(plan, what, v1, v2, log))
        try:
            from training_migration.runs import both_local, local  # noqa: PLC0415 - they need an extra
        except ImportError as error:
            raise Failure(f"{NEEDS_LOCAL} ({error}).", Exit.ENVIRONMENT) from None
        options = local.LocalOptions(self.python, self.sandbox, self.gpus, limit, settle)
        return finish(both_local.local_both(plan, what, options, log))


def log(line: str) -> None:
    """Say on standard error how far it is."""
    print(line, file=sys.stderr, flush=True)


def plan_of(paths: tuple[str, ...], target: Target, side: str, namespace: str = "") -> Plan:
    """What is to be run of the files; without a TrainJob the v1 job is converted. Raises Failure.

    `namespace` is where the v2 side will be, for the host names in it; empty: where the v1 job is.
    """
    sides = read_sides(paths, stock(target))
    v1 = sides.v1 if side != "v2" else None
    v2 = (
        None
        if side == "v1"
        else sides.v2 or (converted(sides.v1, Options(target, namespace=namespace)) if sides.v1 else None)
    )
    if side == "v1" and v1 is None:
        raise Failure("there is no training job of v1 in the files.", Exit.USAGE)
    return Plan(v1, v2, target, sides.others)


def exit_of(record: RunRecord) -> Exit:
    """The code for a run that is compared with nothing."""
    match record.end:
        case EndState.SUCCEEDED:
            return Exit.DONE
        case EndState.REJECTED:
            return Exit.REJECTED
        case EndState.FAILED:
            return Exit.FOUND
    return Exit.INCONCLUSIVE
