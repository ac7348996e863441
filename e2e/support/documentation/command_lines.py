"""Documented command lines held against the programs that they call: nothing is run, everything is parsed."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import click
from e2e.support.documentation import kubectl
from e2e.support.documentation.commands import with_prompts
from e2e.support.documentation.options import Wrong, of_help, positionals
from e2e.support.paths import ROOT

from training_operator.cli import command, go_flags

OTHERS: Final = re.compile(
    r"apt-get|bash|cat|cosign|docker|export|gh|git|grep|kustomize|man|nsenter|sed|tail|timeout"
    r"|(?:[.\w-]+/bin/)?(?:pip|python3?)"
)
"""Programs that are not ours: of these only the name is known here."""
OUTPUTS: Final = ("-o", "--output", "--records", "--write-baseline", "--data")
"""Options of ours whose value is a file or folder that the command makes."""
FILE: Final = re.compile(r"(?![/~.$]|[A-Z]+$|https?:)[\w./-]+(?:/[\w./-]*|\.(?:yaml|json|py|html|xml|md|svg))")
"""What can only be a file: it must be in the repository, or made on the page."""
INLINE: Final = (".venv/bin/", "kubectl ", "make ", "python -m e2e", "training-operator ")
"""How code of a sentence begins that is a command; it may lack arguments."""
ENVIRONMENT: Final = re.compile(r"\.cache/demo/(.*)")
"""Where `make demo FRAMEWORK=...` puts the Python of a framework."""
RECIPE: Final = re.compile(r"^\.venv/bin/(?:pytest|training-operator|python -m e2e\S*) .*$", re.MULTILINE)
"""What a target of the Makefile runs of ours."""


class _Parsed(Exception):
    """A program has taken its arguments."""


@dataclass(slots=True)
class Reader:
    """Reads command lines in the order of a page."""

    made: set[str] = field(default_factory=set)
    """Files and folders that the page has made."""
    whole: bool = True
    """Whether required arguments must be there; in a sentence they need not be."""

    def read(self, line: str) -> None:
        """Parse a line for a shell; raises `Wrong`."""
        for words in _simple_commands(line):
            self._command(words)

    def _command(self, words: list[str]) -> None:
        while words and (words[0] == "sudo" or re.match(r"[A-Z_]+=", words[0])):
            words = words[1:]
        if not words:
            return
        program, *arguments = words
        match program.removeprefix(".venv/bin/"):
            case "training-operator":
                self._files(arguments)
                self._click(arguments)
            case "kubectl" if arguments[:1] == ["training"]:
                self._command(["training-operator", *arguments[1:]])
            case "kubectl":
                self._files(kubectl.parse(arguments, whole=self.whole))
            case "make":
                self._make(tuple(arguments))
            case "pytest":
                folders, _ = positionals(arguments, _options_of_pytest(), whole=self.whole)
                self._files([f"{folder}/" for folder in folders])
            case "python" if arguments[:1] == ["-m"] and arguments[1].partition(".")[0] == "e2e":
                _module(arguments[1], tuple(arguments[2:]), self.whole)
            case _ if not OTHERS.fullmatch(program):
                raise Wrong(f"no program {program} is known")

    def _files(self, words: Sequence[str]) -> None:
        words = words[: words.index("--")] if "--" in words else words
        for before, word in zip(("", *words), words, strict=False):
            if (found := ENVIRONMENT.fullmatch(word)) and not any(
                (ROOT / folder / found[1]).is_dir() for folder in ("examples", "examples/libraries")
            ):
                raise Wrong(f"{word} is the environment of no example")
            if before in OUTPUTS:
                self.made.add(word.rstrip("/"))
            elif FILE.fullmatch(word) and not (ROOT / word).exists() and not self._is_made(word):
                raise Wrong(f"{word} is neither in the repository nor made on the page before")

    def _is_made(self, word: str) -> bool:
        return any(str(path) in self.made for path in (Path(word), *Path(word).parents))

    def _click(self, arguments: list[str]) -> None:
        found: click.Command = command
        context = click.Context(command, info_name="training-operator")
        rest = go_flags(arguments)
        while isinstance(found, click.Group):
            if not rest or rest[0] in ("--help", "--version"):
                return
            name, *rest = rest
            if (below := found.get_command(context, name)) is None:
                raise Wrong(f"`{context.command_path}` has no command {name}")
            found, context = below, click.Context(below, parent=context, info_name=name)
        try:
            with self._folder(), contextlib.redirect_stdout(io.StringIO()):
                found.make_context(context.info_name, rest, parent=context.parent)
        except click.MissingParameter as error:
            if self.whole:
                raise Wrong(error.format_message()) from None
        except click.exceptions.Exit:
            pass  # --help
        except click.ClickException as error:
            raise Wrong(error.format_message()) from None

    @contextlib.contextmanager
    def _folder(self) -> Iterator[None]:
        """Be in a folder with what is in the repository and what the page has made."""
        with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
            for path in ROOT.iterdir():
                if path.name not in self.made:  # else the repository's own file would be touched
                    Path(path.name).symlink_to(path)
            for made in (Path(each) for each in self.made if not each.startswith(("/", "~"))):
                if made.suffix:
                    made.touch()
                else:
                    made.mkdir(exist_ok=True)
            yield

    def _make(self, arguments: tuple[str, ...]) -> None:
        for recipe in _recipes(arguments):
            Reader(self.made, self.whole).read(recipe)


def _simple_commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line, those in `$( )` too, without comments and redirections."""
    for inner in re.findall(r"\$\(([^()]*)\)", line):
        yield from _simple_commands(inner)
    lexer = shlex.shlex(re.sub(r'"?\$\([^()]*\)"?', "SUBSTITUTED", line), posix=True, punctuation_chars=True)
    lexer.wordchars += "$%{}[]!^,@:+\\"
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;"):
            yield words
            words = []
        elif set(word) <= set("<>"):
            next(lexer)
        elif word not in {"eval", "SUBSTITUTED"}:
            words.append(word)
    yield words


@cache
def _recipes(arguments: tuple[str, ...]) -> list[str]:
    """What `make` with these arguments would run of ours."""
    text = (ROOT / "Makefile").read_text()
    for name in (word.partition("=")[0] for word in arguments if "=" in word):
        if not re.search(rf"^{name} *\?=|\$\({name}\)", text, re.MULTILINE):
            raise Wrong(f"the Makefile has no variable {name}")
    # A `make` around this one would hand its own variables down.
    variables = ("MAKE", "MFLAGS", *re.findall(r"^(\w+) *\?=", text, re.MULTILINE))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(variables)}
    command = ["make", "-n", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(done.stderr.strip())
    return RECIPE.findall(done.stdout)


@cache
def _options_of_pytest() -> dict[str, str | None]:
    command = [sys.executable, "-m", "pytest", "e2e/training", "--help"]
    return of_help(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@cache
def _module(name: str, arguments: tuple[str, ...], whole: bool) -> None:
    """Let a program of e2e parse its arguments, and stop there."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        raise Wrong(f"there is no program {name}")
    source = Path(spec.origin).read_text()
    if "parse_args" not in source:
        if arguments and "sys.argv" not in source:
            raise Wrong(f"{name} takes no arguments")
        return
    parse = argparse.ArgumentParser.parse_args

    def only_parse(parser: argparse.ArgumentParser, given: Sequence[str] | None = None, *rest: Any) -> None:
        parse(parser, given, *rest)
        raise _Parsed

    told = io.StringIO()
    try:
        with (
            patch.object(argparse.ArgumentParser, "parse_args", only_parse),
            patch.object(sys, "argv", [name, *arguments]),
            contextlib.redirect_stderr(told),
        ):
            runpy.run_path(spec.origin, run_name="__main__")
    except _Parsed:
        return
    except SystemExit:
        if whole or "required" not in told.getvalue():
            raise Wrong(told.getvalue().strip()) from None


def lines(text: str) -> Iterator[tuple[str, bool]]:
    """The command lines and other code of a page in its order, and whether they stand in a block of commands.

    A line of a block continues where a quote is open or a backslash ends it.
    """
    for language, block, code in re.findall(
        r"^```(\w*)[^`\n]*\n(.*?)^```$|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL
    ):
        if code:
            yield code, False
        commands = with_prompts(block) if language in ("console", "bash") else ""
        for part in re.split(r"^\$ ", commands, flags=re.MULTILINE)[1:]:
            line = ""
            for each in part.splitlines():
                line += each
                if not line.endswith("\\") and _closed(line):
                    break
                line = f"{line.removesuffix(chr(92))}\n"
            yield line, True


def _closed(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def wrong(text: str) -> list[str]:
    """What is wrong with the commands of a page, each with the command.

    A file that a sentence names without a folder is taken for one that the reader has.
    """
    reader, found = Reader(), []
    for line, reader.whole in lines(text):
        if not reader.whole and re.fullmatch(r"[\w-]+(?:\.\w+|/)", line):
            reader.made.add(line.rstrip("/"))
        elif reader.whole or line.startswith(INLINE):
            try:
                reader.read(line)
            except Wrong as error:
                found.append(f"{line}: {error}")
    return found
