"""What may be a name, a label, a key: each function says what is wrong, in the API's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from training_local.apiserver.resource_types import NameStyle

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_ENDS = "must start and end with an alphanumeric character"

Check = Callable[[str], list[str]]


def remembered(check: Check) -> Check:
    """Keep what `check` said of a text: the same keys, values and names come with every object of a job."""
    known = lru_cache(maxsize=8192)(lambda text: tuple(check(text)))
    return lambda text: list(known(text))


@remembered
def label(text: str) -> list[str]:
    """RFC 1123 label."""
    rule = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}"
    if re.fullmatch(_SUBDOMAIN, text) and "." in text:
        return [*_long(text, 63), "must not contain dots"]
    return _long(text, 63) + _shape(text, _LABEL, rule, "my-name", "123-abc")


@remembered
def subdomain(text: str) -> list[str]:
    """RFC 1123 subdomain."""
    rule = f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}"
    return _long(text, 253) + _shape(text, _SUBDOMAIN, rule, "example.com")


@remembered
def label_1035(text: str) -> list[str]:
    """RFC 1035 label."""
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return _long(text, 63) + _shape(text, _LABEL_1035, rule, "my-name", "abc-123")


def path_segment(text: str) -> list[str]:
    """Any text that can stand between two slashes of a URL."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in text]


STYLES: Mapping[NameStyle, Check] = {
    "label": label,
    "label1035": label_1035,
    "path-segment": path_segment,
    "subdomain": subdomain,
}


@remembered
def qualified_name(text: str) -> list[str]:
    """Key of a label or annotation: a name, with a domain and a slash before it if need be."""
    name_rule = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
    examples = ("MyName", "my.name", "123-abc")
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        rule = "a qualified name " + _sentence(name_rule, _QUALIFIED, *examples)
        return [f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems: list[str] = []
    if slash:
        problems += ["prefix part must be non-empty"] if not prefix else [f"prefix part {p}" for p in subdomain(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {problem}" for problem in _long(name, 63)]
    return problems + [f"name part {problem}" for problem in _shape(name, _QUALIFIED, name_rule, *examples)]


@remembered
def label_value(text: str) -> list[str]:
    """Value of a label."""
    rule = f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
    return _long(text, 63) + _shape(text, _VALUE, rule, "MyValue", "my_value", "12345")


def _long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(text) > limit else []


def _shape(text: str, pattern: str, rule: str, *examples: str) -> list[str]:
    return [] if re.fullmatch(pattern, text) else [_sentence(rule, pattern, *examples)]


def _sentence(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
