"""A module that the pods' Python lacks: waiting and starting again will not bring it."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from training_local.cluster.pythons import PACKAGES, Python, known_pythons
from training_local.run.follow import JobFollower

ENOUGH: Final = 3
"""So many containers that end with the same sentence end the run."""
_LOOK_SECONDS: Final = 0.3
_ERROR: Final = re.compile(r"^(?:\S+: )?(?:ModuleNotFoundError|ImportError): (?P<why>.+)$")
_MISSING: Final = re.compile(r"No module named '(?P<module>\w+)")


def import_error(lines: Sequence[str]) -> str:
    """Return the sentence of the import that a container's last lines end with; empty if they end otherwise."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    found = _ERROR.match(last)
    return found["why"] if found else ""


async def repeated_import_error(follower: JobFollower) -> str:
    """Wait until so many containers have failed at the same import, and return its sentence."""
    counts: Counter[str] = Counter()
    looked_at = set()
    while True:
        for failure in follower.failures.seen:
            if failure.key not in looked_at:
                looked_at.add(failure.key)
                counts[import_error(await follower.last_lines(failure))] += 1
        del counts[""]
        if counts and (most := counts.most_common(1)[0])[1] >= ENOUGH:
            return most[0]
        await asyncio.sleep(_LOOK_SECONDS)


def remedy(why: str, python: Python) -> str:
    """Say which module which Python lacks, and what to type."""
    missing = _MISSING.match(why)
    if missing is None:
        return f"{python} cannot import what the program asks for: {why}"
    module = missing["module"]
    lacks = f"{python} has no module {module}"
    others = known_pythons(os.environ, [module])
    if has := next((each for each in others if each.modules and each.path != python.path), None):
        return f"{lacks}, but {has} does; run it with --python {has.path}"
    package = PACKAGES.get(module, (module,))[-1]
    if python.own_packages:
        return f"{lacks}; type: {python.path} -m pip install {package}"
    environment = "python3 -m venv .venv-train && .venv-train/bin/pip install"
    return f"{lacks}; type: {environment} {package}, and run it with --python .venv-train"
