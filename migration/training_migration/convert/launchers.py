"""What a command line starts: torchrun, plain python, mpirun, ... read from its words, without running anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final


class Launcher(StrEnum):
    """The program that starts the processes of a training, from the most to the least specific."""

    TORCHRUN = "torchrun"
    """Also `python -m torch.distributed.run` and `launch`, and torchtune's `tune run`, which is built on it."""
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    HOROVODRUN = "horovodrun"
    MPIRUN = "mpirun"
    COLOSSALAI = "colossalai"
    LIGHTNING = "lightning"
    RAY = "ray"
    PADDLE = "paddle.distributed.launch"
    PYTHON = "python"
    """Python itself: the script reads its rank from the environment, if at all."""
    UNKNOWN = "unknown"
    """A command that is none of these; a script or another program may call one of them."""
    ABSENT = "absent"
    """No command: the image decides."""

    @property
    def sets_ranks(self) -> bool:
        """Whether its processes get RANK, WORLD_SIZE and MASTER_ADDR from it, whatever the container has."""
        return self is Launcher.TORCHRUN

    @property
    def needs_check(self) -> bool:
        """Whether it is a launcher of its own kind, so that which variables it reads depends on the tool."""
        return self in _OWN_RULES


_OWN_RULES: Final = frozenset(
    {
        Launcher.ACCELERATE,
        Launcher.DEEPSPEED,
        Launcher.HOROVODRUN,
        Launcher.COLOSSALAI,
        Launcher.LIGHTNING,
        Launcher.RAY,
    }
)
_PROGRAMS: Final[Mapping[str, Launcher]] = {
    "torchrun": Launcher.TORCHRUN,
    "torchrun-script": Launcher.TORCHRUN,
    "tune": Launcher.TORCHRUN,
    "accelerate": Launcher.ACCELERATE,
    "accelerate-launch": Launcher.ACCELERATE,
    "deepspeed": Launcher.DEEPSPEED,
    "ds": Launcher.DEEPSPEED,
    "horovodrun": Launcher.HOROVODRUN,
    "mpirun": Launcher.MPIRUN,
    "mpiexec": Launcher.MPIRUN,
    "mpiexec.hydra": Launcher.MPIRUN,
    "mpirun.openmpi": Launcher.MPIRUN,
    "mpiexec.openmpi": Launcher.MPIRUN,
    "orterun": Launcher.MPIRUN,
    "prterun": Launcher.MPIRUN,
    "colossalai": Launcher.COLOSSALAI,
    "lightning": Launcher.LIGHTNING,
    "fabric": Launcher.LIGHTNING,
    "ray": Launcher.RAY,
    "fleetrun": Launcher.PADDLE,
}
_MODULES: Final[Mapping[str, Launcher]] = {
    "torch.distributed.run": Launcher.TORCHRUN,
    "torch.distributed.launch": Launcher.TORCHRUN,
    "torch.distributed.elastic.multiprocessing": Launcher.PYTHON,
    "accelerate.commands.launch": Launcher.ACCELERATE,
    "accelerate.commands.accelerate_cli": Launcher.ACCELERATE,
    "deepspeed.launcher.runner": Launcher.DEEPSPEED,
    "deepspeed.launcher.launch": Launcher.DEEPSPEED,
    "horovod.runner": Launcher.HOROVODRUN,
    "horovod.runner.launch": Launcher.HOROVODRUN,
    "colossalai.cli": Launcher.COLOSSALAI,
    "lightning": Launcher.LIGHTNING,
    "ray.scripts.scripts": Launcher.RAY,
    "paddle.distributed.launch": Launcher.PADDLE,
    "paddle.distributed.fleet.launch": Launcher.PADDLE,
}
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*w?")
_PYTHON_OPTIONS_WITH_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_SOURCES: Final = frozenset({".", "source"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.DOTALL)
_SEPARATORS: Final = frozenset({";", "&", "&&", "|", "||", "(", ")", "{", "}", ";;", "\n", "|&"})
_KEYWORDS: Final = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc"})
_WRAPPERS: Final[Mapping[str, int]] = {
    "exec": 0,
    "env": 0,
    "nohup": 0,
    "sudo": 0,
    "nice": 0,
    "ionice": 0,
    "stdbuf": 0,
    "setsid": 0,
    "command": 0,
    "eval": 0,
    "numactl": 0,
    "catchsegv": 0,
    "gosu": 1,
    "su-exec": 1,
    "chroot": 1,
    "timeout": 1,
    "taskset": 1,
    "tini": 0,
    "dumb-init": 0,
    "nsys": 1,
}
"""Programs that run the command behind them -> how many words of their own come before it, options aside."""
_OPTIONS_WITH_VALUE: Final = frozenset({"-n", "-k", "-s", "-u", "-C", "-o", "-g", "--kill-after", "--signal"})
"""Of these programs, where the value is a word of its own."""


def launcher_of(
    command: Sequence[str] | None, args: Sequence[str] | None, scripts: Iterable[tuple[str, str]] = ()
) -> Launcher:
    """What a container's command starts.

    `scripts` are pairs of path and text; a shell script that the command runs is looked up among them by its name.
    Without a command the arguments are looked at, in case the image's entry point runs them, but they only count where
    they are a launcher.
    """
    texts = {PurePosixPath(path).name: text for path, text in scripts}
    if command:
        return _best(_commands([*command, *(args or ())], texts, 0))
    found = _best(_commands(list(args or ()), texts, 0))
    return Launcher.ABSENT if found in (Launcher.UNKNOWN, Launcher.PYTHON) else found


def words(container: Mapping[str, Any]) -> list[str]:
    """Command and arguments of a container."""
    return [str(each) for each in (*(container.get("command") or ()), *(container.get("args") or ()))]


def _best(found: Iterable[Launcher]) -> Launcher:
    order = list(Launcher)
    return min(found, key=order.index, default=Launcher.UNKNOWN)


def _commands(words: Sequence[str], scripts: Mapping[str, str], depth: int) -> Iterator[Launcher]:
    """What each program started by these words is."""
    words = _without_wrappers(words)
    if not words:
        return
    program = PurePosixPath(words[0]).name
    if program in _PROGRAMS:
        yield _PROGRAMS[program]
    elif _PYTHON.fullmatch(program):
        yield _of_python(words[1:])
    elif program in _SHELLS or program in _SOURCES:
        yield from _of_shell(words, scripts, depth)
    elif program in scripts and depth < 3:
        yield from _of_text(scripts[program], scripts, depth + 1)
    else:
        yield _behind(words)


def _behind(words: Sequence[str]) -> Launcher:
    """What a program that is not known starts: torchrun, where that is one of its words and no value of a flag."""
    for before, word in pairwise(words):
        if _PROGRAMS.get(PurePosixPath(word).name) is Launcher.TORCHRUN and (
            not before.startswith("-") or before == "--"
        ):
            return Launcher.TORCHRUN
    return Launcher.UNKNOWN


def _without_wrappers(words: Sequence[str]) -> Sequence[str]:
    """The words from the program on that does the work: without assignments, keywords, `exec`, `timeout 60`, ..."""
    rest = list(words)
    while rest:
        first = PurePosixPath(rest[0]).name
        if _ASSIGNMENT.fullmatch(rest[0]) or rest[0] in _KEYWORDS:
            del rest[0]
        elif first in _WRAPPERS and len(rest) > 1:
            del rest[0]
            own = _WRAPPERS[first]
            while rest and (rest[0].startswith("-") or own or _ASSIGNMENT.fullmatch(rest[0])):
                word = rest.pop(0)
                if word in _OPTIONS_WITH_VALUE and rest:
                    rest.pop(0)
                elif not word.startswith("-") and not _ASSIGNMENT.fullmatch(word):
                    own -= 1
        else:
            break
    return rest


def _of_python(words: Sequence[str]) -> Launcher:
    """What the words after `python` run: a module, a script with the name of a launcher, or anything."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-c":
            return Launcher.PYTHON
        if word.startswith("-m") or re.fullmatch(r"-[A-Za-z]*m", word):
            module = word[2:] if word.startswith("-m") and len(word) > 2 else (rest[0] if rest else "")
            return _MODULES.get(module, Launcher.PYTHON)
        if word in _PYTHON_OPTIONS_WITH_VALUE and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            return _PROGRAMS.get(PurePosixPath(word).name, Launcher.PYTHON)
    return Launcher.PYTHON


def _of_shell(words: Sequence[str], scripts: Mapping[str, str], depth: int) -> Iterator[Launcher]:
    """What a shell runs: the text after `-c`, or a script that is at hand."""
    rest = list(words[1:])
    while rest and rest[0].startswith(("-", "+")):
        option = rest.pop(0)
        if not option.startswith("--") and "c" in option and rest:
            rest = rest[rest[0] == "--" :]
            yield from _of_text(rest[0], scripts, depth + 1, rest[1:])
            return
        if option in ("-o", "+o", "-O") and rest:
            rest.pop(0)
    name = PurePosixPath(rest[0]).name if rest else ""
    if name in scripts and depth < 3:
        yield from _of_text(scripts[name], scripts, depth + 1, rest)
    elif words[0] not in _SOURCES:
        yield _behind(words)


def _of_text(text: str, scripts: Mapping[str, str], depth: int, given: Sequence[str] = ()) -> Iterator[Launcher]:
    """What the commands of a shell's text are; `given` are its parameters, for `exec "$@"`."""
    for words in _simple_commands(text):
        bare = _without_wrappers(words)
        if bare and bare[0] in ("$@", "$*", "${@}"):
            yield from _commands(given[1:], scripts, depth)
        elif bare and depth < 4:
            yield from (each for each in _commands(words, scripts, depth) if each is not Launcher.UNKNOWN)


def _simple_commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell's text, as far as that is known without running it."""
    joined = text.replace("\\\n", " ")
    for line in _lines(joined):
        words: list[str] = []
        for word in line:
            if word in _SEPARATORS:
                if words:
                    yield words
                words = []
            else:
                words.append(word)
        if words:
            yield words


def _lines(text: str) -> Iterator[list[str]]:
    """The text in words, line by line; a quoted text over several lines stays one word."""
    pending = ""
    for line in text.splitlines():
        pending = f"{pending}\n{line}" if pending else line
        try:
            yield _split(pending)
        except ValueError:
            continue
        pending = ""
    if pending:
        yield re.findall(r"[^\s;&|(){}'\"]+|[;&|(){}]", pending)


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    return list(lexer)
