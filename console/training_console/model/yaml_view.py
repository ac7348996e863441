"""A job as YAML, with the defaults that the operator applies in memory marked; no effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from training_api.decode import DecodeError, decode_job
from training_api.defaults import with_defaults
from training_controllers.frameworks.plugins import kinds

LINE_END: Final = "\n"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of YAML."""

    text: str
    defaulted: bool
    """Whether it is not stored: a default."""


def yaml_lines(kind: str, stored: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a stored job, without the record of who changed which field."""
    shown = {key: value for key, value in stored.items() if key != "metadata"}
    metadata = {key: value for key, value in stored["metadata"].items() if key != "managedFields"}
    shown = {**{key: stored[key] for key in ("apiVersion", "kind") if key in stored}, "metadata": metadata, **shown}
    return list(_lines(_defaulted(kind, shown), shown, 0))


def _defaulted(kind: str, stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job with the defaults of its kind; of one that cannot be used, and of other kinds, what is stored."""
    info = kinds().get(kind)
    if info is None:
        return stored
    try:
        job = with_defaults(decode_job(info, stored))
    except DecodeError:
        return stored
    spec = job.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {**stored, "spec": _merged(stored.get("spec") or {}, spec)}


def _merged(stored: Any, defaulted: Any) -> Any:
    """What is stored in its own order and spelling, then what is there by default only."""
    if isinstance(stored, Mapping) and isinstance(defaulted, Mapping):
        known = {key.lower(): key for key in stored}
        merged = {key: _merged(value, defaulted.get(key, value)) for key, value in stored.items()}
        return merged | {key: value for key, value in defaulted.items() if key.lower() not in known}
    if isinstance(stored, list) and isinstance(defaulted, list):
        return [*map(_merged, stored, defaulted), *defaulted[len(stored) :]]
    return stored


def _lines(value: Any, stored: Any, depth: int, *, missing: bool = False) -> Iterator[Line]:
    indent = "  " * depth
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            there = isinstance(stored, Mapping) and key in stored
            yield from _entry(
                f"{indent}{_scalar(key)}:", item, stored[key] if there else None, depth, missing or not there
            )
    elif isinstance(value, list) and value:
        for position, item in enumerate(value):
            there = isinstance(stored, list) and position < len(stored)
            before = stored[position] if there else None
            lines = list(_lines(item, before, depth + 1, missing=missing or not there))
            first = lines[0]
            yield Line(f"{indent}- {first.text.removeprefix('  ' * (depth + 1))}", first.defaulted)
            yield from lines[1:]
    else:
        yield from (Line(f"{indent}{line}", missing) for line in _scalar(value).split("\n"))


def _entry(head: str, item: Any, stored: Any, depth: int, missing: bool) -> Iterator[Line]:
    if isinstance(item, Mapping | list) and item:
        yield Line(head, missing)
        yield from _lines(item, stored, depth + 1, missing=missing)
    elif isinstance(item, str) and _is_block(item):
        yield Line(f"{head} |{'' if item.endswith(LINE_END) else '-'}", missing)
        yield from (
            Line(f"{'  ' * (depth + 1)}{line}", missing) for line in item.removesuffix(LINE_END).split(LINE_END)
        )
    else:
        yield Line(f"{head} {_scalar(item)}", missing)


def _is_block(text: str) -> bool:
    """Whether a text of several lines can be written line by line."""
    return LINE_END in text.strip() and text.rstrip() in (text, text.removesuffix(LINE_END)) and not text[0].isspace()


def _scalar(value: Any) -> str:
    written: str = yaml.safe_dump(value, default_flow_style=True, width=2**30, allow_unicode=True)
    return written.removesuffix("\n").removesuffix("\n...")
