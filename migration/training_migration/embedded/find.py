"""Where jobs of v1 stand in other objects: as objects, and as text of which objects are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.registry import KINDS

_KIND: Final = re.compile(rf"""\bkind\\?["']?\s*:\s*\\?["']?({"|".join(KINDS)})\b""")
"""In YAML, in JSON, and in JSON inside of a text of JSON."""


@dataclass(frozen=True, slots=True)
class Found:
    """One job inside of an object."""

    path: str
    kind: str
    object: dict[str, Any] | None
    """None where it stands there as text."""


def jobs_in(obj: Mapping[str, Any]) -> Iterator[Found]:
    """The jobs inside of an object that is none itself."""
    return _jobs(obj, "")


def _jobs(value: Any, path: str) -> Iterator[Found]:
    if isinstance(value, dict):
        if path and value.get("apiVersion") == API_VERSION and value.get("kind") in KINDS and "spec" in value:
            yield Found(path, str(value["kind"]), value)
            return
        for key, each in value.items():
            yield from _jobs(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _jobs(each, f"{path}[{at}]")
    elif isinstance(value, str) and API_VERSION in value and (kind := kind_in(value)):
        yield Found(path, kind, None)


def kind_in(text: str) -> str:
    """The kind of a job whose YAML or JSON stands in a text; empty if there is none."""
    found = _KIND.search(text)
    return found[1] if found else ""
