"""What Python code says of v1's SDK and of manifests that it writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_api.constants import API_VERSION
from training_migration.code.equivalents import EQUIVALENTS, method_of
from training_migration.code.find import Place, Use, kind_of_text, uses
from training_migration.lint.checks import Spot
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.scripts.script import Language, Script

_NEAR: Final = 3
"""Lines between the version and the kind of a manifest."""


def _of(script: Script, *wanted: Use) -> Iterator[tuple[Place, int]]:
    """Places with their lines in the file."""
    if script.tree is not None:
        for place in uses(script.tree, script.code):
            if place.use in wanted:
                yield place, script.number(place.line)


@SCRIPTS.rule("MIG407")
def calls_the_client(script: Script) -> Iterator[Spot]:
    """Calls of v1's client."""
    for place, line in _of(script, Use.CLIENT, Use.METHOD):
        if place.use is Use.CLIENT:
            message = f"{place.name} is of v1's SDK; now: `TrainerClient()` of the package kubeflow."
        else:
            message = f"{place.name} is of v1's SDK; now: {EQUIVALENTS[method_of(place.name)]}."
        yield Spot(message, line=line)


@SCRIPTS.rule("MIG408")
def makes_models(script: Script) -> Iterator[Spot]:
    """Jobs that are built of v1's models."""
    for place, line in _of(script, Use.MODEL):
        yield Spot(f"{place.name} is a model of v1's SDK; v2's has none of it.", line=line)


@SCRIPTS.rule("MIG409")
def writes_manifests(script: Script) -> Iterator[Spot]:
    """Manifests of v1's jobs in code."""
    for place, line in _of(script, Use.MANIFEST):
        what = "a job of v1" if place.name == "{}" else f"a {place.name} of v1"
        where = "a component of a pipeline" if place.component else "this code"
        yield Spot(f"{where} makes {what}.", line=line)
    for at, each in enumerate(script.lines if script.language is Language.SHELL else ()):
        around = "\n".join(line.text for line in script.lines[max(0, at - _NEAR) : at + _NEAR + 1])
        if API_VERSION in each.text and (kind := kind_of_text(around)):
            yield Spot(f"this code makes a {kind} of v1.", line=each.number)
