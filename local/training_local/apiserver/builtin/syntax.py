"""The syntax of keys, variables and ports in builtin objects; each function says what is wrong, in the API's words."""

from __future__ import annotations

import re

from training_local.apiserver.names import remembered

_KEY = "[-._a-zA-Z0-9]+"


def data_key(text: str) -> list[str]:
    """Key of the data of a ConfigMap or Secret."""
    found = ["must be no more than 253 characters"] if len(text) > 253 else []
    if not re.fullmatch(_KEY, text):
        found.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            f"'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY}')"
        )
    if text in (".", ".."):
        found.append(f"must not be '{text}'")
    elif text.startswith(".."):
        found.append("must not start with '..'")
    return found


@remembered
def environment_name(text: str) -> list[str]:
    """Name of an environment variable: anything printable in ASCII but the equals sign."""
    if all(" " <= char <= "~" and char != "=" for char in text):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


@remembered
def port_name(text: str) -> list[str]:
    """Name of a port (IANA service name)."""
    found = ["must be no more than 15 characters"] if len(text) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def port_number(number: int) -> list[str]:
    """Number of a port."""
    return [] if 1 <= number <= 65535 else ["must be between 1 and 65535, inclusive"]


def no_back_steps(path: str) -> list[str]:
    """Path that may not leave its folder."""
    return ["must not contain '..'"] if ".." in path.split("/") else []
