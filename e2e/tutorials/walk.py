"""A tutorial as steps: files that the reader saves, and blocks of commands with what they print."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.support.documentation.commands import EXECUTED, with_prompts
from e2e.support.paths import ROOT

EVIDENCE: Final = f"{EXECUTED}e2e/tutorials/test_tutorials.py"
_STEP: Final = re.compile(
    r'^```\w+ title="(?P<file>[^"]+)"\n(?P<text>.*?)^```$'
    rf"|^<!-- commands: {re.escape(EVIDENCE)} -->\n```(?:console|bash)\n(?P<block>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_END: Final = "=== end of a command ==="
LIMIT: Final = 480.0


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and the lines that the page shows of its output; `...` stands for anything."""

    line: str
    shown: tuple[str, ...]

    def missing(self, output: str) -> list[str]:
        """The lines of the page that the output lacks."""
        told = [" ".join(line.split()) for line in output.splitlines()]
        patterns = {line: ".*".join(map(re.escape, " ".join(line.split()).split("..."))) for line in self.shown}
        return [line for line, pattern in patterns.items() if not any(re.fullmatch(pattern, each) for each in told)]


@dataclass(frozen=True, slots=True)
class Tutorial:
    """The files of a page by name, and its commands, both in order."""

    files: Mapping[str, str]
    commands: tuple[Command, ...]


def read(page: Path) -> Tutorial:
    """Read a page. Blocks of one file follow each other in it."""
    files: dict[str, str] = {}
    commands: list[Command] = []
    for step in _STEP.finditer(page.read_text()):
        if step["file"]:
            files[step["file"]] = files.get(step["file"], "") + step["text"]
        else:
            commands += _commands(step["block"])
    return Tutorial(files, tuple(commands))


def _commands(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", with_prompts(block), flags=re.MULTILINE)[1:]:
        line, *shown = part.splitlines()
        yield Command(line, tuple(each for each in shown if each not in ("", "...")))


def walk(
    tutorial: Tutorial, folder: Path, environment: Mapping[str, str], instead: Mapping[str, Path] | None = None
) -> None:
    """Save the files in a folder that looks like the clone, and run all commands there in one shell.

    What is named in `instead` takes the place of what the clone has under that name.
    """
    for name, path in ({path.name: path for path in ROOT.iterdir()} | {**(instead or {})}).items():
        (folder / name).symlink_to(path)
    for name, text in tutorial.files.items():
        (folder / name).write_text(text)
    script = "\n".join(("set -euo pipefail", *(f"{each.line}\necho '{_END}'" for each in tutorial.commands)))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    outputs = done.stdout.split(f"{_END}\n")
    wrong = {
        each.line: missing
        for each, output in zip(tutorial.commands, outputs, strict=False)
        if (missing := each.missing(output))
    }
    assert wrong == {}, done.stdout[-6000:]
