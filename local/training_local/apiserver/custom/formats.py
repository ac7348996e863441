"""String formats that the real server checks in custom resources; others are ignored, as there."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address, ip_network

_HEX = "[0-9a-fA-F]"
_UUID = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}")
_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+))+|0", re.IGNORECASE)
_HOST = re.compile(
    r"(?=.{1,255}$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*"
)
_LABEL = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAC = re.compile(rf"{_HEX}{{2}}([-:]{_HEX}{{2}}){{5}}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*:\S+|/\S*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return check


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _is_moment(text: str) -> bool:
    return _MOMENT.fullmatch(text) is not None and _parses(datetime.fromisoformat)(text)


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "cidr": _parses(lambda text: ip_network(text, strict=False) if "/" in text else int("x")),
    "date": _parses(date.fromisoformat),
    "datetime": _is_moment,
    "duration": _matches(_DURATION),
    "email": _matches(_EMAIL),
    "hostname": _matches(_HOST),
    "ipv4": _parses(IPv4Address),
    "ipv6": _parses(IPv6Address),
    "k8slongname": _matches(_SUBDOMAIN),
    "k8sshortname": _matches(_LABEL),
    "mac": _matches(_MAC),
    "uri": _matches(_URI),
    "uuid": _matches(_UUID),
}
"""Name without hyphens -> check."""
