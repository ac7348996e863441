"""Shells around a command that only set variables: what they set, and the command that is behind them.

Only statements that can be followed with certainty are; `sh -c` with anything else is left as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from training_migration.convert.asymmetric import BY_INDEX

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SUM: Final = re.compile(r"\$\(\(\s*\$?(\w+)\s*\+\s*(\d+)\s*\)\)")
_REFERENCE: Final = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})")
_CHOICE: Final = re.compile(
    r'if \[ "\$JOB_COMPLETION_INDEX" = 0 \]; then\n  exec (?P<first>.*)\nelse\n  exec (?P<others>.*)\nfi\n', re.DOTALL
)
_ALL_PARAMETERS: Final = ("$@", "${@}")


@dataclass(frozen=True, slots=True)
class Started:
    """What a container starts once its shell is done."""

    words: tuple[str, ...]
    """Program and arguments; for a shell that does more than can be followed those of the shell."""
    environment: Mapping[str, str]


class _Unclear(Exception):
    """A statement that cannot be followed."""


def started(command: Sequence[str], args: Sequence[str], environment: Mapping[str, str]) -> Started:
    """What is started, given the container's words and variables after Kubernetes has resolved them."""
    words = (*command, *args)
    if words[1:3] == ("-c", "--"):
        words = (*words[:2], *words[3:])
    if len(words) < 3 or PurePosixPath(words[0]).name not in _SHELLS or words[1] not in ("-c", "-ec", "-euc", "-exc"):
        return Started(words, environment)
    if (chosen := _by_index(words, environment)) is not None:
        return started(chosen, (), environment)
    try:
        found = _followed(words[2], words[4:], environment)
    except (_Unclear, ValueError):  # shlex raises the latter for quotes that do not end
        return Started(words, environment)
    return started(found.words, (), found.environment)  # it may be another shell


def _by_index(words: Sequence[str], environment: Mapping[str, str]) -> Sequence[str] | None:
    """The command that a conversion's shell starts in the pod of this index; None for another shell."""
    match = _CHOICE.fullmatch(words[2]) if words[3:] == (BY_INDEX,) else None
    if match is None:
        return None
    return shlex.split(match["first" if environment.get("JOB_COMPLETION_INDEX", "0") == "0" else "others"])


def _followed(text: str, parameters: Sequence[str], environment: Mapping[str, str]) -> Started:
    variables = dict(environment)
    active: list[bool] = []
    """For each `if` around the statement, whether its branch is taken."""
    statements = _statements(text)
    for number, statement in enumerate(statements, 1):
        first, rest = statement[0], statement[1:]
        match first:
            case "if":
                active.append(_holds(rest, variables))
            case "then":
                pass
            case "else":
                active[-1] = not active[-1]
            case "fi":
                active.pop()
            case _ if not all(active):
                pass
            case "set" | ":":
                pass
            case "export":
                _assign([word for word in rest if "=" in word], variables)
            case _ if _ASSIGNMENT.fullmatch(first) and all(map(_ASSIGNMENT.fullmatch, statement)):
                _assign(statement, variables)
            case _ if first == "exec" or number == len(statements):
                return Started(tuple(_program(statement, parameters, variables)), variables)
            case _:
                raise _Unclear
    raise _Unclear


def _statements(text: str) -> list[list[str]]:
    """The words of each statement, quotes removed; `then` and `else` are statements of their own."""
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        hidden = _SUM.sub(lambda match: f"$\0{match[1]}+{match[2]}\1", line)
        lexer = shlex.shlex(hidden, posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        words: list[str] = []
        for token in lexer:
            word = token.replace("$\0", "$((").replace("\1", "))")
            if word == ";":
                found.append(words)
                words = []
            elif word in ("&", "&&", "|", "||", "(", ")") or "$(" in word.replace("$((", ""):
                raise _Unclear
            elif word in ("then", "else") and not words:
                found.append([word])
            else:
                words.append(word)
        found.append(words)
    return [words for words in found if words]


def _holds(test: Sequence[str], variables: Mapping[str, str]) -> bool:
    """`[ a = b ]`, the only kind of test that is followed."""
    match list(test):
        case ["[", left, "=" | "==" | "-eq", right, "]"]:
            return _value(left, variables) == _value(right, variables)
    raise _Unclear


def _assign(words: Sequence[str], variables: dict[str, str]) -> None:
    for word in words:
        match = _ASSIGNMENT.fullmatch(word)
        if match is None:
            raise _Unclear
        variables[match[1]] = _value(match[2], variables)


def _value(text: str, variables: Mapping[str, str]) -> str:
    def total(match: re.Match[str]) -> str:
        number = variables.get(match[1], "0")
        if not number.isdecimal():
            raise _Unclear
        return str(int(number) + int(match[2]))

    text = _REFERENCE.sub(
        lambda match: variables.get(match[1] or match[2]) or match[3] or "",
        _SUM.sub(total, text),
    )
    if "$" in text or "`" in text:
        raise _Unclear
    return text


def _program(words: Sequence[str], parameters: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    rest = list(words[1:] if words[0] == "exec" else words)
    found: list[str] = []
    for word in rest:
        if word in _ALL_PARAMETERS:
            found += parameters
        else:
            found.append(_value(word, variables))
    return found
