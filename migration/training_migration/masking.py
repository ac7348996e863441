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
_SECRET_ENDS: Final = ("password", "passwd", "passphrase", "secret", "apikey", "token")
"""Also without anything before them that begins a word: PGPASSWORD, identitytoken."""
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
    """Whether a variable, a flag or a key of this name holds a credential, as far as its name shows."""
    words = tuple(word.lower() for word in _WORDS.findall(name))
    if not words:
        return False
    if words[-3:] == _ACCESS_ID:
        return True
    if words[-1] in _HARMLESS_ENDS:
        return False
    owned = any(first in _KEY_OWNERS and second in ("key", "keys") for first, second in itertools.pairwise(words))
    return owned or any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDS) for word in words)


_FORMS: Final = re.compile(
    r"""-----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | \b(?: hf_[A-Za-z0-9]{20,} | api_org_[A-Za-z0-9]{20,}              # Hugging Face
    | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_\w{22,} | gl[a-z]{2,5}-[\w-]{20,}
    | (?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16} | AIza[\w-]{35} | ya29\.[\w-]{20,}
    | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*                               # JSON Web Token
    | sk-[\w-]{20,} | [rs]k_(?:live|test)_[A-Za-z0-9]{16,} | nvapi-[\w-]{20,} | wandb_v1_\w{20,} | r8_[A-Za-z0-9]{30,}
    | xox[a-z]-[\w-]{10,} | xapp-[\w-]{10,} | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{40,} | dckr_[a-z]+_[\w-]{20,}
    | SG\.[\w-]{20,}\.[\w-]{20,} | dapi[a-f0-9]{32} | [0-9]{8,10}:AA[\w-]{33} )""",
    re.VERBOSE,
)
"""Tokens that are known by their form alone, wherever they stand."""
_HOOK: Final = re.compile(
    r"""(https?://(?:[^\s/"'\\]*hooks?\b[^\s/"'\\]*/|[^\s/"'\\]+/(?:[^\s/"'\\]+/)*(?:[a-z-]*hooks?(?:b2)?|bot(?=[0-9]))/?))"""
    r"""[^\s"'\\<>]{8,}""",
    re.IGNORECASE,
)
"""Addresses to which whoever knows them may write: those of Slack, Discord, Teams, Feishu, WeCom, Telegram ..."""
_REGISTRY: Final = re.compile(r"""(["']_?auth\\?["']\s*:\s*\\?["']|\b_auth\s*=\s*)[A-Za-z0-9+/=_-]{8,}""")
"""What Docker and npm write for a registry: user and password, encoded."""


_USER_INFO: Final = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)(?=@)")
_BEARER: Final = re.compile(r"\b(bearer|basic) [\w.~+/=-]{8,}", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"""--?(?P<flag>[A-Za-z][\w-]*)(?:=|[ \t]+)|\b(?P<name>[A-Za-z_][\w.-]*)(?:=|["']?[ \t]*:[ \t]*)"""
)
_VALUE: Final = re.compile(r"""\\?"[^"]*"|\\?'[^']*'|[^\s"'\\]+""")
_REFERENCE: Final = re.compile(r"""["']?\$(\w+|\(\w+\)|\{\w+\})["']?""")


_SHORTEST: Final = 16
"""Characters of a token that is known by its form."""
_ASSIGNS: Final = re.compile(r"[-=:]")


def mask_text(text: str) -> str:
    """The text without what looks like a token, a web-hook or a registry's login, without passwords in URLs, and
    without what it assigns: `A_TOKEN=x`, `--token x`, `password: x`.

    References to variables stay.
    """
    if len(text) < _SHORTEST and not _ASSIGNS.search(text):
        return text
    shown = _FORMS.sub(MASK, text)
    shown = _HOOK.sub(rf"\1{MASK}", shown)
    shown = _REGISTRY.sub(rf"\1{MASK}", shown)
    shown = _USER_INFO.sub(rf"\1:{MASK}", shown)
    shown = _BEARER.sub(rf"\1 {MASK}", shown)
    parts, at = [], 0
    for assigned in _ASSIGNED.finditer(shown):
        if assigned.start() < at or not is_credential(assigned["flag"] or assigned["name"]):
            continue
        value = _VALUE.match(shown, assigned.end())
        if value is not None and not _REFERENCE.fullmatch(value[0]):
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


_LOGIN: Final = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")


def _masked_field(owner: Mapping[str, Any], key: str, value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return masked(value)
    name = owner.get("name") if key == "value" else key
    if (
        key == LAST_APPLIED
        or (key == "auth" and _LOGIN.fullmatch(value))
        or (isinstance(name, str) and is_credential(name) and not _REFERENCE.fullmatch(value))
    ):
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
