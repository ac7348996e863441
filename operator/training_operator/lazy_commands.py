"""Groups of commands that are imported when they are used: help is fast, and there where a command cannot be."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import Any, Final

import click

OTHER_NAMES: Final = {"re2": "google-re2", "yaml": "pyyaml"}
"""Modules -> packages, where the names differ."""
UNIX: Final = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"})
"""Modules of the standard library that Windows does not have."""


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command that is not imported yet."""

    target: str
    """Module and attribute, with a colon between them."""
    help: str
    """What a list of commands says of it: the first sentence of its help, as far as a line takes it."""


class LazyGroup(click.Group):
    """A group that has its commands by name; for an unknown name it suggests the nearest one."""

    interrupted: str = ""
    """What is said after Ctrl-C."""

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *self.lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; one that cannot be imported says why when it is used."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.lazy[cmd_name].target.partition(":")
        try:
            command: click.Command = getattr(import_module(module), attribute)
        except ImportError as error:
            return unavailable(cmd_name, error)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first argument, or reject it with the one that was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close or "Did you mean" in error.message:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; where the system lacks a module that only some systems have, say so.

        An interrupt before a command handles it, while its modules are loaded, has the status that a shell gives it.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if self.interrupted:
                click.echo(self.interrupted, err=True)
            sys.exit(128 + signal.SIGINT)
        except ModuleNotFoundError as error:
            if error.name not in UNIX:
                raise
            raise click.ClickException(f"`{ctx.invoked_subcommand}`: {error}. {_remedy(error)}") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing those that are not needed for it."""
        rows = []
        limit = formatter.width - 6 - max(map(len, self.list_commands(ctx)), default=0)
        for name in self.list_commands(ctx):
            if name in self.lazy:
                rows.append((name, click.Command(name, help=self.lazy[name].help).get_short_help_str(limit)))
            elif (command := self.get_command(ctx, name)) is not None:
                rows.append((name, command.get_short_help_str(limit)))
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def carry_out(target: str, /, **options: Any) -> None:
    """Call the function `target`, which is imported for it: the help of a command needs nothing of what it does."""
    load(target)(**options)


def load(target: str) -> Callable[..., Any]:
    """Import a function (module and attribute, with a colon between them), or say what is missing for that."""
    module, _, attribute = target.partition(":")
    try:
        function: Callable[..., Any] = getattr(import_module(module), attribute)
    except ImportError as error:
        raise click.ClickException(f"`{attribute}` cannot be loaded: {error}. {_remedy(error)}".rstrip()) from None
    return function


def unavailable(name: str, error: ImportError) -> click.Command:
    """A command in place of one that cannot be imported: it says why, and what would help."""

    def fail() -> None:
        raise click.ClickException(f"`{name}` cannot be loaded: {error}. {_remedy(error)}".rstrip())

    ignore = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=fail, context_settings=ignore, help="It cannot be loaded.")


def _remedy(error: ImportError) -> str:
    """What to do about it; empty if unknown: an extra that does not exist is never named."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    module = error.name.partition(".")[0]
    if module in UNIX:
        return f"This system ({sys.platform}) lacks the module: use Linux, or WSL2 on Windows."
    package = OTHER_NAMES.get(module, module)
    extras = _extras(package)
    if "" in extras:
        return f"pip install {package} installs it."
    return f"pip install '.[{extras[0]}]' in a clone of the repository installs it." if extras else ""


def _extras(package: str) -> list[str]:
    """The extras of ours that need a package, those first that need least; "" stands for what everybody needs."""
    try:
        needed = requires("training-operator") or []
    except PackageNotFoundError:
        return []
    every: dict[str, list[str]] = {}
    for each in needed:
        name, extra = re.match(r"[\w.-]+", each), re.search(r"""extra == ["']([\w-]+)["']""", each)
        every.setdefault(extra[1] if extra else "", []).append(_folded(name[0] if name else each))
    return sorted((extra for extra, names in every.items() if _folded(package) in names), key=lambda e: len(every[e]))


def _folded(package: str) -> str:
    """Spellings of one package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()
