"""Variables that scripts set by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from training_migration.lint.scripts.environ import Manner, accesses
from training_migration.lint.scripts.script import Script, language_of

RANKS: Final = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
"""What PyTorch needs to form a group from the environment."""
_ASSIGNMENT: Final = re.compile(r"(?:^|[\s;&(])([A-Z]\w*)=")


def assigned(words: Iterable[str], scripts: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Names that a command line, or one of these scripts (path and text), gives a value."""
    names = {name for word in words for name in _ASSIGNMENT.findall(word)}
    for path, text in scripts:
        script = Script(path, text, language_of(path, text))
        if script.tree is not None:
            names |= {each.name for each in accesses(script.tree) if each.manner is Manner.SETS}
        elif not script.is_python:
            names |= {name for line in script.lines for name in _ASSIGNMENT.findall(line.text)}
    return frozenset(names)
