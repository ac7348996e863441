"""A shell around a container's command, for values that only exist once the container runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from training_migration.convert.context import Json
from training_migration.convert.launchers import words


def wrapped(container: Json, lines: Sequence[str], name: str) -> None:
    """Let a shell run these lines and then the container's command, which stays as it is in the arguments."""
    command = list(container["command"])
    script = "\n".join([*lines, 'exec "$@"']) + "\n"
    container["args"] = [*command, *(container.get("args") or ())]
    container["command"] = ["sh", "-c", script, name]


def references_expanded(container: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Those of the variables that Kubernetes would have to fill in before the command starts."""
    texts = [*words(container), *(str(variable.get("value", "")) for variable in container.get("env") or ())]
    return [name for name in names if any(f"$({name})" in text for text in texts)]
