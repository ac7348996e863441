"""Completion of command lines: scripts for shells, and the answer to kubectl when it completes those of its plugin."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from training_operator.cli import COMPLETION, command

SHELLS = ("bash", "zsh", "fish")
NO_FILES, FILES = 4, 0
"""What kubectl may offer next to our answer, in the numbers of the library that it is made with (cobra)."""


@click.command
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Write the script that completes command lines in a shell.

    \b
    bash: eval "$(training-operator completion bash)"
    zsh:  eval "$(training-operator completion zsh)"
    fish: training-operator completion fish | source
    """
    script = get_completion_class(shell)
    assert script is not None, shell
    click.echo(script(command, {}, "training-operator", COMPLETION).source())


def complete_for_kubectl() -> None:
    """Entry point of `kubectl_complete-training`: a line per word that may follow, then what kubectl may add."""
    *words, begun = sys.argv[1:] or [""]
    found = ShellComplete(command, {}, "kubectl training", COMPLETION).get_completions(words, begun)
    for item in found:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help or ''}".rstrip())
    click.echo(f":{FILES if any(item.type != 'plain' for item in found) else NO_FILES}")
