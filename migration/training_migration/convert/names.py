"""Names: how long that of a TrainJob may be, with the sum that says why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from training_migration.convert.context import Context
from training_migration.convert.plan import Group
from training_migration.v1_job import V1Job

LONGEST: Final = 63
"""Characters of a pod's name."""
SHAPE: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
RANDOM: Final = 6
"""A hyphen and five characters that the Job controller puts behind the name of a pod."""


def check_name(context: Context, groups: Iterable[Group]) -> None:
    """Reject a name that v2 would not take, or whose pods would get too long a name."""
    name, path = context.name, "metadata.name"
    if message := of_generated_name(context.job, name):
        context.notes.add("MIG009", message, "metadata.generateName")
    if not SHAPE.fullmatch(name):
        context.notes.reject(
            "MIG003",
            f"{name!r} is no name of a TrainJob: small letters, digits and hyphens, a letter first;"
            " --name gives another one.",
            path,
        )
    longest = max(groups, key=lambda group: len(_rest(group)), default=None)
    if longest is None:
        return
    rest = _rest(longest)
    if len(name) + len(rest) + RANDOM > LONGEST:
        room = LONGEST - len(rest) - RANDOM
        context.notes.reject(
            "MIG003",
            f"the name has {len(name)} characters, at most {room} are possible: {LONGEST} of a pod's name less"
            f" {len(rest)} of {rest!r} and {RANDOM} of a random ending; --name gives another one.",
            path,
        )


def of_generated_name(job: V1Job, name: str) -> str:
    """What is to be said where the API server made the name of the job; empty where this name is not made of it."""
    metadata = job.object.get("metadata") or {}
    if name != str(metadata.get("generateName") or "").rstrip("-."):
        return ""
    return (
        f"generateName: the TrainJob is always called {name}, because hosts and a runtime are called after it;"
        " another run needs another name: --name."
    )


def _rest(group: Group) -> str:
    """What follows the job's name in the name of the last pod of the group."""
    last = max(group.count - 1, 0)
    return f"-{group.name}-0-{last}" if group.in_one_job else f"-{group.name}-{last}-0"
