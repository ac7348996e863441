"""What looks like a credential does not leave this process: not in a report, not on a terminal."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from training_api.yaml_text import dump, parts

MASK: Final = "********"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Holds the whole object once more."""

_SECRET_WORDS: Final = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "pwd",
        "secret",
        "secrets",
        "token",
        "credential",
        "credentials",
        "creds",
        "apikey",
        "pat",
    ]
)
_KEY_OWNERS: Final = frozenset(
    ["api", "access", "private", "secret", "encryption", "signing", "account", "auth", "storage", "shared", "ssh"]
)
_HARMLESS_ENDS: Final = frozenset(
    [
        "file",
        "files",
        "path",
        "dir",
        "folder",
        "name",
        "names",
        "ref",
        "id",
        "count",
        "length",
        "limit",
        "size",
        "seconds",
        "ttl",
        "expiration",
        "type",
        "header",
    ]
)
_ACCESS_ID: Final = ("access", "key", "id")
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")


def is_credential(name: str) -> bool:
    """Whether a variable, a flag or a key of this name holds a credential, as far as a name can tell."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    if not words:
        return False
    if words[-3:] == _ACCESS_ID:
        return True
    if words[-1] in _HARMLESS_ENDS:
        return False
    owned = any(first in _KEY_OWNERS and second in ("key", "keys") for first, second in itertools.pairwise(words))
    return owned or any(word in _SECRET_WORDS for word in words)


_USER_INFO: Final = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)(?=@)")
_BEARER: Final = re.compile(r"\b(bearer|basic) [\w.~+/=-]{8,}", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"""--?(?P<flag>[A-Za-z][\w-]*)(?:=|[ \t]+)|\b(?P<name>[A-Za-z_][\w.-]*)(?:=|["']?[ \t]*:[ \t]*)"""
)
_VALUE: Final = re.compile(r"""\\?"[^"]*"|\\?'[^']*'|[^\s"'\\]+""")
_REFERENCE: Final = re.compile(r"""["']?\$(\w+|\(\w+\)|\{\w+\})["']?""")


def mask_text(text: str) -> str:
    """The text without passwords in URLs and without what it assigns: `A_TOKEN=x`, `--token x`, `password: x`.

    References to variables stay.
    """
    shown = _USER_INFO.sub(rf"\1:{MASK}", text)
    shown = _BEARER.sub(rf"\1 {MASK}", shown)
    parts, at = [], 0
    for assigned in _ASSIGNED.finditer(shown):
        value = _VALUE.match(shown, assigned.end())
        if value is None or assigned.start() < at or not is_credential(assigned["flag"] or assigned["name"]):
            continue
        if not _REFERENCE.fullmatch(value[0]):
            parts += [shown[at : assigned.end()], MASK]
            at = value.end()
    return "".join([*parts, shown[at:]])


def masked(value: Any) -> Any:
    """A copy of an object, or of a part of one, that may be shown."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list | tuple):
        return _masked_list(value)
    if not isinstance(value, Mapping):
        return value
    match value.get("kind"):
        case "Secret":
            inside = {key: dict.fromkeys(value[key], MASK) for key in _CONTENT if isinstance(value.get(key), Mapping)}
        case "ConfigMap":
            content = value.get("data")
            inside = (
                {"data": {key: _masked_file(key, each) for key, each in content.items()}}
                if isinstance(content, Mapping)
                else {}
            )
        case _:
            inside = {}
    return {key: inside[key] if key in inside else _masked_field(value, key, each) for key, each in value.items()}


_CONTENT: Final = ("data", "stringData")


def _masked_file(name: str, text: Any) -> Any:
    """A file of a ConfigMap; one that holds objects, as a snapshot of a runtime does, is masked as they are."""
    if not isinstance(text, str) or "\n" not in text or is_credential(name):
        return _masked_field({}, name, text)
    found = list(parts(text))
    shown = [masked(each.value) for each in found]
    if any(not isinstance(each.value, dict) for each in found) or shown == [each.value for each in found]:
        return mask_text(text)
    return dump(shown)


def _masked_field(owner: Mapping[str, Any], key: str, value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return masked(value)
    name = owner.get("name") if key == "value" else key
    if key == LAST_APPLIED or (isinstance(name, str) and is_credential(name) and not _REFERENCE.fullmatch(value)):
        return MASK
    return mask_text(value)


def _masked_list(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """A list, for example of arguments: what follows a flag for a credential is one."""
    shown = []
    expected = False
    for each in values:
        is_value = expected and isinstance(each, str) and not each.startswith("-") and not _REFERENCE.fullmatch(each)
        shown.append(MASK if is_value else masked(each))
        expected = isinstance(each, str) and each.startswith("-") and "=" not in each and is_credential(each)
    return shown
