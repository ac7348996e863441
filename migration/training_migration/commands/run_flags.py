"""Options of the verbs that start pods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import cloup

_Command = TypeVar("_Command", bound=Callable[..., Any])

SIDES: Final = ("both", "v1", "v2")


def place(command: _Command) -> _Command:
    """The options by which the values of Place are given."""
    options = (
        cloup.option(
            "--where",
            type=click.Choice(["local", "cluster"]),
            default="local",
            help="On an embedded cluster of this machine, or on a cluster with the controllers of either side.",
        ),
        cloup.option(
            "--python",
            type=click.Path(path_type=Path),
            help="Here, what pods find as `python`: an interpreter or a virtual environment. Default: this program's.",
        ),
        cloup.option(
            "--sandbox",
            type=click.Choice(["auto", "netns", "host"]),
            default="auto",
            help="Here, how pods are kept apart; auto takes the best there is.",
        ),
        cloup.option(
            "--gpus", type=click.IntRange(0, 1024), help="GPUs of the local node, whether the machine has them or not."
        ),
        cloup.option("--kubeconfig", default="", show_default=False, help="Of clusters. Default: as kubectl has it."),
        cloup.option("--context-v1", default="", show_default=False, help="Of v1's cluster. Default: the current one."),
        cloup.option("--context-v2", default="", show_default=False, help="Of v2's cluster. Default: the current one."),
        cloup.option("--namespace-v1", default="", show_default=False, help="Where v1's objects may be created."),
        cloup.option("--namespace-v2", default="", show_default=False, help="Where v2's objects may be created."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def side(command: _Command) -> _Command:
    """`--side` as `side: str`."""
    return cloup.option("--side", type=click.Choice(SIDES), default="both", help="Which side to run.")(command)


def limit(default: float, what: str = "a side") -> Callable[[_Command], _Command]:
    """`--timeout` as `limit: float`."""
    return cloup.option(
        "--timeout",
        "limit",
        type=click.FloatRange(min=1.0),
        default=default,
        help=f"Timeout of {what}, in seconds.",
    )
