"""Frameworks of other packages: what is installed under the entry point `training_operator.frameworks`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from training_api.kinds import KindInfo
from training_api.registry import KINDS
from training_controllers.frameworks.base import Framework
from training_controllers.model.owned_objects import OWNED_KINDS

GROUP: Final = "training_operator.frameworks"
"""Entry-point group: any name -> a `Framework`."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """The framework of another package."""

    package: str
    """What one installs: the name of the distribution."""
    framework: Framework


@dataclass(frozen=True, slots=True, eq=False)
class Plugins:
    """What other packages add, and what is wrong with those that add nothing; found again it is another one."""

    found: tuple[Plugin, ...]
    problems: tuple[str, ...]
    """One sentence for each entry point that is left out."""


class BadPlugin(ValueError):
    """A framework cannot be used; the text is the reason."""


@cache
def plugins() -> Plugins:
    """Load the frameworks of other packages, once; one that cannot be used does not keep the others away."""
    found: list[Plugin] = []
    problems: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (_package(each), each.name)):
        try:
            framework = _loaded(entry, [*KINDS.values(), *(each.framework.info for each in found)])
        except (Exception, SystemExit) as error:  # whatever a third party's module does
            why = "; ".join(str(error).splitlines())
            if not isinstance(error, ValueError):
                why = f"{type(error).__name__}: {why}"
            problems.append(f"the framework {entry.value} of the package {_package(entry)} is ignored: {why}")
        else:
            found.append(Plugin(_package(entry), framework))
    return Plugins(tuple(found), tuple(problems))


def kinds() -> Mapping[str, KindInfo]:
    """Every kind by its name: the six, and those of other packages."""
    return {**KINDS, **{each.framework.info.kind: each.framework.info for each in plugins().found}}


def ignored() -> str:
    """Why frameworks of other packages are left out, to follow what is said of an unknown kind; empty if none is."""
    problems = "; ".join(plugins().problems)
    return f" ({problems})" if problems else ""


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module


def _loaded(entry: EntryPoint, known: Sequence[KindInfo]) -> Framework:
    framework = entry.load()
    if not isinstance(framework, Framework):
        raise BadPlugin(f"it must be a Framework, not {type(framework).__name__}")
    if taken := ", ".join(sorted({name for info in known for name in _names(info)} & set(_names(framework.info)))):
        raise BadPlugin(f"{framework.info.kind} has names that another kind has: {taken}")
    if framework.info.metrics_label in [info.metrics_label for info in known]:
        raise BadPlugin(f"{framework.info.kind} has the metrics_label of another kind: {framework.info.metrics_label}")
    if strange := ", ".join(kind.name for kind in framework.owned_kinds if kind not in OWNED_KINDS.values()):
        raise BadPlugin(f"{framework.info.kind} owns {strange}; it may own those of training_controllers.model only")
    return framework


def _names(info: KindInfo) -> Iterator[str]:
    """The names of which an API server gives each to one kind of a group only."""
    yield from (info.kind, info.plural, info.singular, *info.short_names)
