"""Which kinds are known, of plugins too, and what the author of an object of another kind may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Final

from training_api.constants import API_VERSION, GROUP
from training_controllers.frameworks.plugins import ignored, kinds

V2_GROUP: Final = "trainer.kubeflow.org"
OTHERS: Final = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "JobSet", "LeaderWorkerSet", "RayJob", "ReplicaSet", "StatefulSet"}
)
"""Kinds of others that run programs."""


def meant(api_version: str, kind: str) -> str:
    """What is wrong with an object that no training job is: a clause to follow its name; empty if nothing is known."""
    group = api_version.rpartition("/")[0]
    if group == V2_GROUP or kind == "TrainJob":
        return f"it is a kind of Trainer v2; supported here are the kinds of {API_VERSION} run: {_listed()}"
    if kind in OTHERS:
        return f"nothing runs {kind}s here; put its pod template into a job of {API_VERSION}: {_listed()}"
    known = nearest(kind, kinds())
    if not known or (group and group != GROUP and not nearest(group, [GROUP])):
        return f"no such kind of {API_VERSION} is known: {_listed()}{ignored()}" if group == GROUP else ""
    if known != kind:
        return f"did you mean {known}{'' if api_version == API_VERSION else f' of {API_VERSION}'}?{ignored()}"
    return f"did you mean apiVersion: {API_VERSION}?" if api_version != API_VERSION else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was meant: another spelling of it, or one with a few letters changed; empty if there is none.

    Short names and plurals of kinds are spellings of them.
    """
    names = {spelling: name for name in known for spelling in _spellings(name)}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.75)
    return names[close[0]] if close else ""


def _spellings(name: str) -> Iterator[str]:
    yield name.lower()
    if name in kinds():
        yield from (kinds()[name].plural, *kinds()[name].short_names)


@cache
def _listed() -> str:
    return ", ".join(kinds())
