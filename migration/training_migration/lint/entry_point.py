"""What an image starts by itself, from its Dockerfile or its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from training_api.yaml_text import json_value


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """ENTRYPOINT and CMD of an image; None where nothing is known of it."""

    command: Sequence[str] | None = None
    args: Sequence[str] | None = None

    def of(self, container: Mapping[str, Any]) -> tuple[Sequence[str] | None, Sequence[str] | None]:
        """Command and arguments of a container of this image, as a kubelet combines them."""
        command, args = container.get("command"), container.get("args")
        if command:
            return command, args
        if self.command is None and self.args is None:
            return None, args
        return [*(self.command or ()), *((args or self.args) or ())], None


NOTHING: Final = EntryPoint()
_INSTRUCTION: Final = re.compile(r"^\s*(FROM|ENTRYPOINT|CMD)\s+(.*)$", re.IGNORECASE)


def of_dockerfile(text: str) -> EntryPoint:
    """What the last stage of a Dockerfile says; a base image's own entry point is not known here."""
    found: dict[str, Sequence[str]] = {}
    for line in re.sub(r"\\\s*\n", " ", text).splitlines():
        if instruction := _INSTRUCTION.match(line):
            word = instruction[1].upper()
            if word == "FROM":
                found = {}
            else:
                found[word] = _words(instruction[2].strip())
    return EntryPoint(found.get("ENTRYPOINT"), found.get("CMD"))


def _words(text: str) -> Sequence[str]:
    """The exec form is a list in JSON, anything else is for a shell."""
    if text.startswith("["):
        try:
            return [str(word) for word in json_value(text)]
        except ValueError:
            pass
    return ["/bin/sh", "-c", text]


def of_configuration(value: Any) -> EntryPoint:
    """The configuration of an image as clients of registries print it; NOTHING where it says nothing."""
    if isinstance(value, list) and value:
        value = value[0]
    config = (value.get("config") or value.get("Config") or value) if isinstance(value, dict) else {}
    command, args = config.get("Entrypoint"), config.get("Cmd")
    return EntryPoint(command, args) if command or args else NOTHING
