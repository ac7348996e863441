"""Options that several verbs have, so that they are spelled, explained and checked alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import cloup

from training_migration.findings import Severity
from training_migration.targets import NEWEST, Target
from training_operator.lazy_commands import load

_Command = TypeVar("_Command", bound=Callable[..., Any])

_NEVER: Final = "never"
_VERSION: Final = re.compile(r"v?(1\.\d+)(\..*)?")


def _version(context: click.Context, parameter: click.Parameter, value: str) -> str:
    match = _VERSION.fullmatch(value)
    if value and match is None:
        raise click.BadParameter(f"{value!r} is no version of Kubernetes; an example is 1.31.")
    return match[1] if match else ""


def _severity(context: click.Context, parameter: click.Parameter, value: str) -> Severity | None:
    return None if value == _NEVER else Severity(value)


def inputs(command: _Command) -> _Command:
    """`PATHS...` as `paths: tuple[str, ...]`: files, folders, `-` for standard input; at least one."""
    return click.argument("paths", nargs=-1, required=True, metavar="PATH...")(command)


def target(command: _Command) -> _Command:
    """`--target` as `target: Target`: the newest release where it is not given, which is then said."""
    return cloup.option(
        "--target",
        type=click.Choice([each.value for each in Target]),
        show_default=False,
        callback=_target,
        help=f"Release of Trainer v2 to move to. Default: the newest, {NEWEST}.",
    )(command)


def _target(context: click.Context, parameter: click.Parameter, value: str | None) -> Target:
    if value is None and not context.resilient_parsing:
        click.echo(f"For Trainer {NEWEST}, the newest release that is known (--target chooses another).", err=True)
    return NEWEST if value is None else Target(value)


def kubernetes(command: _Command) -> _Command:
    """`--kubernetes` as `kubernetes: str`: major and minor version, empty if it is not given."""
    return cloup.option(
        "--kubernetes",
        default="",
        metavar="VERSION",
        show_default=False,
        callback=_version,
        help="Version of the cluster to move to, for example 1.31. Default: the oldest that the target supports.",
    )(command)


def output(command: _Command) -> _Command:
    """`-o` as `output: Path | None`: None is standard output."""
    return cloup.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="Output file. Default: standard output.",
    )(command)


KUBECONFIG: Final = cloup.option(
    "--kubeconfig", default="", help="Default: KUBECONFIG, the pod's service account, ~/.kube/config."
)
CONTEXT: Final = cloup.option(
    "--context", "cluster_context", default="", help="Of the kubeconfig. Default: its current one."
)


def formats(first: str, *others: str) -> Callable[[_Command], _Command]:
    """`--format` as `style: str`, one of these; the first is the default."""
    return cloup.option(
        "--format",
        "style",
        type=click.Choice([first, *others]),
        default=first,
        help="Output format.",
    )


def operator(command: _Command) -> _Command:
    """Settings of v1's operator as `gang_scheduler_name: str` and `cluster_domain: str`."""
    group = cloup.OptionGroup("Settings of the v1 operator")
    domain = group.option("--cluster-domain", default="", help="What names of TFJob replicas end in, after `svc`.")
    gang = group.option("--gang-scheduler-name", default="", metavar="NAME", help="The gang scheduler. Default: none.")
    return gang(domain(command))


def tolerance(command: _Command) -> _Command:
    """`--tolerance` as `tolerance: float | None`: None compares no metrics."""
    return cloup.option(
        "--tolerance",
        type=click.FloatRange(min=0.0),
        help="Relative difference up to which metrics count as equal, for example 0.01."
        " Default: they are not compared.",
    )(command)


def fail_on(command: _Command) -> _Command:
    """`--fail-on` as `fail_on: Severity | None`: None for `never`."""
    return cloup.option(
        "--fail-on",
        type=click.Choice([*(each.value for each in Severity), _NEVER]),
        default=Severity.ERROR.value,
        callback=_severity,
        help="Lowest severity that makes the exit status 1; never: report only, exit with 0.",
    )(command)


def strict(command: _Command) -> _Command:
    """`--strict` as `strict: bool`."""
    return cloup.option("--strict", is_flag=True, help="Exit with 3 if a part of a job has no equivalent in v2.")(
        command
    )


def carry_out(target: str, options: Mapping[str, Any]) -> None:
    """End with the code of a verb, which is imported for it: the help of a command needs nothing of what it does."""
    click.get_current_context().exit(load(target)(**options))
