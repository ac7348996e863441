"""The command line: which commands there are, those that other packages add, and Go's way to write flags."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import click

from training_operator import __version__
from training_operator.lazy_commands import Lazy, LazyGroup, unavailable

COMMANDS: Final = "training_operator.commands"
"""Entry-point group: name of a command -> its click command."""

TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
"""What Go's flag package takes for a boolean."""

COMPLETION: Final = "_TRAINING_OPERATOR_COMPLETE"
"""Variable by which a shell asks for completions."""
SWITCHES: Final = ("force", "leader-elect", "zap-devel")
OWN: Final = {
    "completion": Lazy(
        "training_operator.shell_completion:completion", "Write the script that completes command lines in a shell."
    ),
    "crds": Lazy("training_operator.manifest_commands:crds", "Write CustomResourceDefinitions, for `kubectl apply`."),
    "man": Lazy("training_operator.man_pages:man", "Write the manual page of a command."),
    "rbac": Lazy(
        "training_operator.manifest_commands:rbac",
        "Write the roles that let the operator serve kinds, bound to its account, for `kubectl apply`.",
    ),
    "run": Lazy("training_operator.run_command:run", "Run the operator against a cluster until SIGTERM."),
}


class Commands(LazyGroup):
    """The own commands and those of the entry-point group; the latter are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=COMMANDS).names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; one that cannot be imported says why when it is used."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        for entry in entry_points(group=COMMANDS, name=cmd_name):
            try:
                command: click.Command = entry.load()
            except ImportError as error:
                return unavailable(cmd_name, error)
            return command
        return None


@click.group(cls=Commands, lazy=OWN, context_settings={"show_default": True, "max_content_width": 110})
@click.version_option(__version__, message="training-operator %(version)s")
def command() -> None:
    """Run distributed training jobs (kubeflow.org/v1) on Kubernetes, or on this machine without any cluster."""


def go_flags(arguments: Sequence[str]) -> list[str]:
    """Translate Go's flag syntax: `-flag` is `--flag`, `--switch=false` is `--no-switch`; flags alone mean `run`.

    Commands that v1 does not have are ignored.
    """
    if not arguments or not (arguments[0] == "run" or arguments[0].startswith("-")):
        return list(arguments)
    translated = [_go_flag(argument) for argument in arguments]
    if translated[0].startswith("--") and translated[0] not in ("--help", "--version"):
        translated.insert(0, "run")
    return translated


def _go_flag(argument: str) -> str:
    name, equals, value = argument.lstrip("-").partition("=")
    dashes = len(argument) - len(argument.lstrip("-"))
    if dashes not in (1, 2) or len(name) < 2 or not name[0].isalpha():
        return argument
    if equals and name in SWITCHES and value in TRUE | FALSE:
        return f"--{'' if value in TRUE else 'no-'}{name}"
    return f"--{name}{equals}{value}"


def _mend_streams() -> None:
    """Keep output working in a locale that lacks its characters; discard it where the shell has closed it (`>&-`)."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # the next file would take its number, and get the output
            os.open(os.devnull, os.O_RDWR)
    sys.stdin, sys.stdout, sys.stderr = (
        stream or open(number, mode, closefd=False)  # noqa: SIM115 - it ends with the process
        for number, (stream, mode) in enumerate(((sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w")))
    )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error


def main() -> None:
    """Entry point of `training-operator`, of kubectl's plugin, and of `/manager` in the image, which runs by itself."""
    name = Path(sys.argv[0]).name
    arguments = sys.argv[1:] or (["run"] if name == "manager" else [])
    called = "kubectl training" if name == "kubectl-training" else "training-operator"
    _mend_streams()
    command.main(args=go_flags(arguments), prog_name=called, complete_var=COMPLETION)
