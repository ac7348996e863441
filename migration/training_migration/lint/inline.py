"""Command lines and variables of containers, read as the scripts that they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from training_migration.convert.launchers import words
from training_migration.findings import Finding
from training_migration.lint import pods
from training_migration.lint.scripts.lint import lint_script
from training_migration.lint.scripts.script import Language

Json = Mapping[str, Any]
OF_THE_LAUNCHER = frozenset({"MIG115"})
"""What is known of the command as a whole."""


def inline_findings(
    pod: Json,
    path: str,
    *,
    kind: str | None,
    launched: bool,
    given: frozenset[str] = frozenset(),
    replaced: frozenset[str] = frozenset(),
) -> Iterator[Finding]:
    """What the rules for scripts find in a pod's containers, by field.

    `given` are variables that are known to be set, `replaced` those whose values in the template no process sees.
    """
    for group in ("initContainers", "containers"):
        for at, container in enumerate(pod.get(group) or ()):
            where = f"{path}.{group}[{at}]"
            for field, text, language in _texts(container, replaced):
                for finding in lint_script(field, text, kind=kind, given=given, launched=launched, language=language):
                    if finding.rule.id not in OF_THE_LAUNCHER:
                        yield replace(finding, path=f"{where}.{field}", source="", line=0)


def _texts(container: Json, replaced: frozenset[str]) -> Iterator[tuple[str, str, Language]]:
    """The command line as one text, Python that stands in it, and the values of variables."""
    line = words(container)
    field = pods.command_field(container)
    python = [line[at + 1] for at, word in enumerate(line[:-1]) if word == "-c" and "python" in line[at - 1]]
    yield field, " ".join(word for word in line if word not in python), Language.SHELL
    yield from ((field, text, Language.PYTHON) for text in python)
    for variable in container.get("env") or ():
        name = variable.get("name")
        if (value := variable.get("value")) and name not in replaced:
            yield f"env[{name}].value", f"{name}={value}", Language.TEXT
