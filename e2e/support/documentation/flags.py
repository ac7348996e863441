"""The flags of `training-operator run`: from the command itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import cloup
from e2e.support.documentation.table import code, table

from training_operator.run_command import DEFAULTS, run


def flags() -> str:
    """One table for each group of flags, in the order of `--help`."""
    assert isinstance(run, cloup.Command)
    parts = []
    for group in run.option_groups:
        options = [option for option in group.options if isinstance(option, click.Option)]
        parts += [f"## {group.title}", table(("flag", "value", "default", "what it does"), _rows(options))]
    return "\n\n".join(parts)


def _rows(options: list[click.Option]) -> Iterator[tuple[str, str, str, str]]:
    for option in options:
        names = ", ".join(code(name) for name in (*option.opts, *option.secondary_opts))
        if option.envvar:
            names += f", variable {code(option.envvar)}"
        yield names, _value(option), _default(option), option.help or ""


def _value(option: click.Option) -> str:
    if option.is_flag:
        return "switch"
    if isinstance(option.type, click.Choice):
        return " or ".join(code(choice) for choice in option.type.choices)
    word = (option.metavar or {"integer": "number", "float": "number"}.get(option.type.name, option.type.name)).lower()
    return f"{word}, repeatable" if option.multiple else word


def _default(option: click.Option) -> str:
    value: Any = getattr(DEFAULTS, option.name or "", None)
    if option.is_flag and isinstance(value, bool):
        return "on" if value else "off"
    return code(value) if isinstance(value, str | int | float) and value != "" and not isinstance(value, bool) else ""
