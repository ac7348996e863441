"""Options of the verbs that start pods, and what they have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import cloup

from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.runs.foreground import finish
from training_migration.runs.record import EndState, RunRecord
from training_migration.runs.recording import Seen
from training_migration.runs.sides import V2Side, read_sides
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.stock import stock

_Command = TypeVar("_Command", bound=Callable[..., Any])

NEEDS_LOCAL: Final = "runs on this machine need more packages: pip install 'training-operator[local]'"
SIDES: Final = ("both", "v1", "v2")


def machine(command: _Command) -> _Command:
    """How pods are run on this machine: `python`, `sandbox`, `gpus`."""
    options = (
        click.option(
            "--python",
            type=click.Path(path_type=Path),
            help="What pods find as `python`: an interpreter or a virtual environment. Default: that of this program.",
        ),
        click.option(
            "--sandbox",
            type=click.Choice(["auto", "netns", "host"]),
            default="auto",
            show_default=True,
            help="How pods are kept apart; auto takes the best there is.",
        ),
        click.option("--gpus", type=click.IntRange(0, 1024), help="Offer so many GPUs, be they there or not."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def side(command: _Command) -> _Command:
    """`--side` as `side: str`."""
    return cloup.option(
        "--side", type=click.Choice(SIDES), default="both", show_default=True, help="Which side to run."
    )(command)


def limit(default: float) -> Callable[[_Command], _Command]:
    """`--timeout` as `limit: float`."""
    return cloup.option(
        "--timeout",
        "limit",
        type=click.FloatRange(min=1.0),
        default=default,
        show_default=True,
        help="Seconds after which a side is given up.",
    )


def tell(line: str) -> None:
    """Say on standard error how far it is."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Here:
    """How jobs are run on this machine."""

    python: Path | None
    sandbox: str
    gpus: int | None
    limit: float
    settle: float
    witness: bool = False

    def run(self, plan: Plan, target: Target, probed: tuple[str, ...] = (), seconds: float = 0.0) -> list[Seen]:
        """Run the sides of a plan, one after the other; with `probed` as a test of the wiring. Raises Failure."""
        try:
            from training_migration.runs import both_local, local  # noqa: PLC0415 - they need an extra
        except ImportError as error:
            raise Failure(f"{NEEDS_LOCAL} ({error})", Exit.ENVIRONMENT) from None
        options = local.LocalOptions(
            self.python, self.sandbox, self.gpus, self.limit, self.settle, witnessed=self.witness
        )
        what = both_local.What(plan.others, options, probed, seconds)
        return finish(both_local.local_both(plan.v1, plan.v2, target, what, tell))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    v1: V1Job | None
    v2: V2Side | None
    others: tuple[dict[str, Any], ...]


def both_sides(paths: tuple[str, ...], target: Target, side: str) -> Plan:
    """What is to be run of the files; without a TrainJob the v1 job is converted. Raises Failure."""
    sides = read_sides(paths, stock(target))
    v1 = sides.v1 if side != "v2" else None
    v2 = None if side == "v1" else sides.v2 or (converted(sides.v1, target) if sides.v1 else None)
    if side == "v1" and v1 is None:
        raise Failure("there is no training job of v1 in the files.", Exit.USAGE)
    return Plan(v1, v2, sides.others)


def converted(job: V1Job, target: Target) -> V2Side:
    """The v2 side of a v1 job; raises Failure for one that cannot be converted."""
    conversion = convert(job, Options(target))
    if conversion.refused:
        raise Failure(f"{job.source}: cannot be converted: {conversion.refused}", Exit.NO_COUNTERPART)
    assert conversion.runtime is not None, "only asked for, a stock runtime is referred to"
    return V2Side(conversion.train_job, conversion.runtime, f"{job.source} (converted)")


def exit_of(record: RunRecord) -> Exit:
    """The code for a run that is compared with nothing."""
    match record.end:
        case EndState.SUCCEEDED:
            return Exit.DONE
        case EndState.REFUSED:
            return Exit.REFUSED
        case EndState.FAILED:
            return Exit.FOUND
    return Exit.INCONCLUSIVE
