"""`lint_script`: what the rules find in a text."""

from __future__ import annotations

from training_migration.findings import Finding
from training_migration.lint.scripts import launch, sdk, surroundings
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.scripts.script import Language, Script, language_of

MODULES = (launch, sdk, surroundings)
"""Those with checks."""


def lint_script(
    path: str,
    text: str,
    *,
    kind: str | None = None,
    given: frozenset[str] = frozenset(),
    launched: bool = False,
    language: Language | None = None,
) -> list[Finding]:
    """What is found in a script of jobs of a kind; None for an unknown one, which its imports then show.

    `given` are variables that its container sets, `launched` says that torchrun starts it.
    """
    return SCRIPTS(Script(path, text, language or language_of(path, text), kind, given, launched), source=path)
