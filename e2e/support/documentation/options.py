"""Options of programs whose parsers are not at hand: which there are, and which of them take a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence


class Wrong(Exception):
    """What is wrong with a command line."""


Options = Mapping[str, str | None]
"""By name: None for a switch, else what the value may be, `{a,b}` or anything."""


def of_help(text: str) -> dict[str, str | None]:
    """The options that the help of an argparse program lists."""
    found: dict[str, str | None] = {}
    for names in re.findall(r"^  (-.*?)(?:  .*)?$", text, re.MULTILINE):
        for name, value in re.findall(r"(--?[\w-]+)(?:[ =](\S+?))?(?:, |$)", names):
            found[name] = value or None
    return found


def positionals(
    words: Sequence[str], options: Options, *, whole: bool = True
) -> tuple[list[str], dict[str, list[str]]]:
    """What is no option, up to `--`, and the values of options; raises `Wrong` for an option that is not there.

    What is not `whole` may end where a value would follow.
    """
    left: list[str] = []
    values: dict[str, list[str]] = {}
    rest = list(words[: words.index("--")] if "--" in words else words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            left.append(word)
            continue
        name, equals, value = word.partition("=")
        if not name.startswith("--") and name not in options and name[:2] in options:
            name, equals, value = name[:2], "=", word[2:]  # -rs
        if name not in options:
            raise Wrong(f"no option {name}; there are {' '.join(sorted(options))}")
        allowed = options[name]
        if allowed is None:
            continue
        if not equals:
            if not rest and not whole:
                continue
            if not rest:
                raise Wrong(f"{name} takes a value")
            value = rest.pop(0)
        if allowed.startswith("{") and value not in allowed[1:-1].split(","):
            raise Wrong(f"{name} is one of {allowed}, not {value}")
        values.setdefault(name, []).append(value)
    return left, values
