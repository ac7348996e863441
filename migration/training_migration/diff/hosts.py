"""Whether the names of pods that a pod is given lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.wiring import View
from training_migration.findings import Severity

_HOST: Final = re.compile(r"(?<![\w.-])[\w.-]+")
_AFTER_THE_JOB: Final = re.compile(
    r"-(?:master|worker|chief|ps|evaluator|launcher|node)(?:-\d+)*(?:\.[\w.-]*\w)?(?![\w-])"
)
"""What the name of a pod has behind that of its job."""


def host_items(views: tuple[View, View], names: tuple[str, str], files: tuple[str, str]) -> Iterator[Item]:
    """Whether every name of a pod of the job in variables, command line and host file leads to a pod there.

    `names` are those of the jobs of both sides.
    """
    lost = [sorted(_unresolved(each, names, file)) for each, file in zip(views, files, strict=True)]
    texts = (_shown(lost[0]), _shown(lost[1]))
    if lost[1] and not lost[0]:
        reason, severity = f"no pod on v2 has the name {lost[1][0]}", Severity.ERROR
        yield Item(Aspect.NAMES, "names of hosts", *texts, Likeness.DIFFERENT, reason, severity)
    elif lost[0] and not lost[1]:
        yield Item(Aspect.NAMES, "names of hosts", *texts, Likeness.EQUIVALENT, "all names of v2 lead to pods")
    else:
        yield Item(Aspect.NAMES, "names of hosts", *texts, Likeness.SAME)


def _shown(lost: Sequence[str]) -> str:
    return f"of no pod: {', '.join(lost)}" if lost else "all lead to pods"


def _unresolved(view: View, names: tuple[str, str], file: str) -> set[str]:
    """What looks like the name of a pod of the job on either side, and is the name of none here."""
    texts = [*view.environment.values(), *view.words, file]
    found = {name for text in texts for name in _names(text, names)}
    return {name for name in found if view.side.place_of(name) is None and name not in view.side.entered}


def _names(text: str, jobs: Iterable[str]) -> Iterator[str]:
    if not any(job in text for job in jobs):
        return
    for host in _HOST.findall(text):
        for job in jobs:
            if host.startswith(job) and (rest := _AFTER_THE_JOB.match(host, len(job))):
                yield host[: rest.end()]
