"""Replaces what differs from run to run (uids, versions, times, names of namespaces) by placeholders."""

from __future__ import annotations

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SUFFIX = re.compile(r"\b(generated-|Upper)[bcdfghjklmnpqrstvwxz2456789]{5}")
_PATCHED = re.compile(r'(Invalid value: ")\{.*\}(": )')
"""The outcome of a patch as text, with the managed fields of whoever wrote before."""
_TOKEN_FAULT = re.compile(r"(continue key is not valid: ).*")
_ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+")
_VERSION_TOLD = re.compile(r"(ResourceVersion in (?:the precondition|record) \()(\d+)(?=\))")
_DROPPED = ("managedFields", "selfLink")


class Plain:
    """The placeholders of one case: equal values get equal placeholders, numbered as they appear."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._seen: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        """Return a copy of `value` with placeholders."""
        if isinstance(value, dict):
            value = _without_version_of_all(value)
            return {
                self._text(key): self._member(key, value[key]) for key in sorted(value) if self._kept(key, value[key])
            }
        if isinstance(value, list):
            return [self(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _kept(self, key: str, value: Any) -> bool:
        said_less = key == "causes" and all(cause.get("reason") == "UnexpectedServerResponse" for cause in value)
        return key not in _DROPPED and not (key == "creationTimestamp" and value is None) and not said_less

    def _member(self, key: str, value: Any) -> Any:
        if key == "resourceVersion" and isinstance(value, str) and value.isdigit() and value != "0":
            return self._placeholder("version", value)
        if key == "continue" and value:
            return "<token>"
        if key == "causes":
            # The real server repeats a cause for each of its layers that finds it, and says less of failed patches.
            plain = [self(cause) for cause in value if cause.get("reason") != "UnexpectedServerResponse"]
            return [cause for number, cause in enumerate(plain) if cause not in plain[:number]]
        if key == "ca.crt":
            return "<certificate>"
        return self(value)

    def _text(self, text: str) -> str:
        text = text.replace(self._namespace, "<namespace>")
        text = _PATCHED.sub(r"\1<patched object>\2", text)
        text = _TOKEN_FAULT.sub(r"\1<why>", text)
        text = _TIME.sub("<time>", text)
        text = _SUFFIX.sub(r"\1<random>", text)
        text = _ADDRESS.sub("<address>", text)
        text = _UID.sub(lambda found: self._placeholder("uid", found[0]), text)
        return _VERSION_TOLD.sub(lambda found: found[1] + self._placeholder("version", found[2]), text)

    def _placeholder(self, sort: str, value: str) -> str:
        if value not in self._seen:
            self._counts[sort] = self._counts.get(sort, 0) + 1
            self._seen[value] = f"<{sort} {self._counts[sort]}>"
        return self._seen[value]


def _without_version_of_all(value: dict[str, Any]) -> dict[str, Any]:
    """Lists and bookmarks tell the version of the whole storage, which any other writer moves at any moment."""
    if value.get("type") == "BOOKMARK":
        return {**value, "object": _without_version(value["object"])}
    return _without_version(value) if str(value.get("kind", "")).endswith("List") else value


def _without_version(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not str(metadata.get("resourceVersion", "")).isdigit():
        return value
    return {**value, "metadata": {**metadata, "resourceVersion": "<version of all>"}}
