"""Each container's own `/tmp` and `/var/tmp`, and what of the machine's is still seen below them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import training_local
from training_local.node.sandbox.messages import Mount

PLACES: Final = ("/tmp", "/var/tmp")
_BELOW: Final = re.compile(r"(?<![\w./-])(?:/tmp|/var/tmp)/[^\s'\",:;=()|<>&]+")
SHARED: Final = (
    "Pods share {0} with this machine, because the command was started in it; started in a folder of its own, each "
    "container gets a {0} of its own."
)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Where an attempt of a container keeps temporary files."""

    own: Sequence[Mount]
    """Folders in the place of the machine's."""
    folder: str
    """What is `/tmp` if that can be replaced, and else a folder beside it."""
    visible: Sequence[str]
    """What is seen of the machine's folders all the same."""

    @property
    def replaces_tmp(self) -> bool:
        """Whether `/tmp` is the container's own."""
        return any(mount.target == PLACES[0] for mount in self.own)


def shared(working_directory: Path) -> list[str]:
    """The places that pods share with the machine: who starts a cluster in one wants them to see what lies there."""
    return [place for place in PLACES if os.path.realpath(place) == os.path.realpath(working_directory)]


def make(folder: Path, working_directory: Path, needed: Iterable[str]) -> Scratch:
    """Make the temporary folders of an attempt of a container below `folder`."""
    mounts, kept = [], shared(working_directory)
    for place in PLACES:
        made = folder / place.strip("/").replace("/", "-")
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        made.chmod(0o1777)
        if Path(place).is_dir() and place not in kept:
            mounts.append(Mount(str(made), place))
    below = tuple(f"{place}/" for place in PLACES)
    return Scratch(
        mounts, str(folder / "tmp"), [each for each in needed if each.startswith(below) and Path(each).is_dir()]
    )


def programs(
    command_line: Sequence[str], temporary: Scratch, seen: Sequence[str], private: Iterable[Path]
) -> list[Mount]:
    """Show, to be read, the programs below the machine's folders that a command line names, and what lies beside them.

    A Python file counts as a program. Of `private` nothing is shown, and what is `seen` stays as it is.
    """
    hidden = [each.resolve() for each in private]
    shown = set()
    for named in {path for text in command_line for path in _BELOW.findall(text)}:
        path, within = Path(os.path.realpath(named)), os.path.normpath(named)
        below = any(_is_below(within, mount.target) for mount in temporary.own)
        if not below or any(_is_below(within, each) for each in seen) or any(map(path.is_relative_to, hidden)):
            continue
        if path.is_file() and (path.suffix == ".py" or os.access(path, os.X_OK)):
            folder = str(Path(within).parent)
            shown.add(within if folder in PLACES else folder)
    return [Mount(place, place, readonly=True) for place in sorted(shown)]


def unseen(texts: Iterable[str], seen: Sequence[str]) -> list[str]:
    """Return the paths in the texts that this machine has below one of the places, and a container does not see."""
    named = {path for text in texts for path in _BELOW.findall(text) if Path(path).exists()}
    return sorted(path for path in named if not any(_is_below(path, each) for each in seen))


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def prefixes(python: Path) -> Iterator[Path]:
    """The folders that an interpreter needs: its own and, if that is a virtual environment, the one it was made of."""
    python = Path(os.path.abspath(python))  # noqa: PTH100 - resolving the link would leave the virtual environment
    yield python.parent.parent
    yield python.resolve().parent.parent
    settings = python.parent.parent / "pyvenv.cfg"
    for line in settings.read_text().splitlines() if settings.is_file() else ():
        name, _, value = line.partition("=")
        if name.strip() == "home":
            yield Path(value.strip()).parent


def of_this_program() -> Iterator[Path]:
    """The folders of the programs of ours that every pod finds."""
    yield from prefixes(Path(sys.executable))
    yield Path(training_local.__file__).parent
