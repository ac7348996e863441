"""The syntax of names, labels, keys and ports: each check returns the real server's complaints, none if all is well."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

Complaints = tuple[str, ...]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ALPHANUMERIC: Final = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def too_long(limit: int) -> str:
    """Say that a text is longer than `limit` characters."""
    return f"must be no more than {limit} characters"


def must_match(rule: str, regex: str, *examples: str) -> str:
    """Say that a text does not follow `rule`, with examples that do."""
    shown = " or ".join(f"'{example}', " for example in examples)
    example = f"e.g. {shown}" if examples else ""
    return f"{rule} ({example}regex used for validation is '{regex}')"


@lru_cache(maxsize=4096)
def dns_label(text: str) -> Complaints:
    """Check an RFC 1123 label: container names, namespaces, pods' host names."""
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character"
    )
    long = (too_long(63),) if len(text) > 63 else ()
    if re.fullmatch(_LABEL, text):
        return long
    if re.fullmatch(_SUBDOMAIN, text):
        return (*long, "must not contain dots")
    return (*long, must_match(rule, _LABEL, "my-name", "123-abc"))


@lru_cache(maxsize=4096)
def dns_label_1035(text: str) -> Complaints:
    """Check an RFC 1035 label: services."""
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    return _sized(text, 63, _LABEL_1035, rule, "my-name", "abc-123")


@lru_cache(maxsize=4096)
def dns_subdomain(text: str) -> Complaints:
    """Check an RFC 1123 subdomain: the names of most objects."""
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character"
    )
    return _sized(text, 253, _SUBDOMAIN, rule, "example.com")


def path_segment(text: str) -> Complaints:
    """Check a name that only has to be one segment of a URL's path: RBAC objects."""
    if text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{each}'" for each in ("/", "%") if each in text)


@lru_cache(maxsize=4096)
def qualified_name(text: str) -> Complaints:
    """Check a key of labels and annotations: an optional DNS prefix with a slash, and a name."""
    rule = f"must consist of {_ALPHANUMERIC}"
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        example = must_match(rule, _QUALIFIED, "MyName", "my.name", "123-abc")
        return (
            f"a qualified name {example} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    found: list[str] = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        found += [f"prefix part {each}" for each in dns_subdomain(prefix)]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append(f"name part {too_long(63)}")
    if not re.fullmatch(_QUALIFIED, name):
        found.append("name part " + must_match(rule, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return tuple(found)


@lru_cache(maxsize=4096)
def label_value(text: str) -> Complaints:
    """Check the value of a label."""
    rule = f"a valid label must be an empty string or consist of {_ALPHANUMERIC}"
    return _sized(text, 63, f"({_QUALIFIED})?", rule, "MyValue", "my_value", "12345")


@lru_cache(maxsize=1024)
def data_key(text: str) -> Complaints:
    """Check a key of the data of a ConfigMap or Secret."""
    rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    return (*_sized(text, 253, "[-._a-zA-Z0-9]+", rule, "key.name", "KEY_NAME", "key-name"), *_dots(text))


def environment_name(text: str) -> Complaints:
    """Check the name of an environment variable: anything printable in ASCII but the equals sign."""
    if all(" " <= char <= "~" and char != "=" for char in text):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


@lru_cache(maxsize=1024)
def port_name(text: str) -> Complaints:
    """Check the name of a port (IANA service name)."""
    found = [too_long(15)] if len(text) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def port_number(number: int) -> Complaints:
    """Check the number of a port."""
    return () if 1 <= number <= 65535 else ("must be between 1 and 65535, inclusive",)


def _sized(text: str, limit: int, regex: str, rule: str, *examples: str) -> Complaints:
    long = (too_long(limit),) if len(text) > limit else ()
    return long if re.fullmatch(regex, text) else (*long, must_match(rule, regex, *examples))


def _dots(text: str) -> Complaints:
    if text in (".", ".."):
        return (f"must not be '{text}'",)
    return ("must not start with '..'",) if text.startswith("..") else ()
