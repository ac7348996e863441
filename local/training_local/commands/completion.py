"""Names for a shell that completes a command line; how they are found is loaded when a shell asks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _names(of: str) -> Complete:
    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        with suppress(Exception):  # an error has no place in a line that is being typed
            names = getattr(import_module("training_local.verbs.names"), of)(context.params)
            return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(begun)]
        return []

    return complete


clusters, archived, targets, pods = (_names(of) for of in ("clusters", "archived", "targets", "pods"))
