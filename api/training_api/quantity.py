"""Resource quantities such as `500m`, `1.5Gi`, `2e3`: their value and the form in which Kubernetes stores them."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
"""Suffix -> power of two."""
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""Suffix -> power of ten."""

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"

_SHAPE = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?\d+)", re.ASCII)
_NANO = 10**9
_LARGEST_BINARY = 2**63 - 1


class Amount(NamedTuple):
    """A value, and the suffix that says in which form it is written."""

    value: Fraction
    suffix: str

    def plus(self, other: Amount) -> Amount:
        """Return the sum, in the form of the first that is more than nothing."""
        return Amount(self.value + other.value, self.suffix if self.value else other.suffix)

    def times(self, count: int) -> Amount:
        """Return so many times the amount."""
        return Amount(self.value * count, self.suffix)

    def __str__(self) -> str:
        return _formatted(self.value, self.suffix)


@lru_cache(maxsize=4096)
def amount(text: str) -> Amount:
    """Return a quantity to reckon with; raise `ValueError` with the real server's sentence."""
    return Amount(*_parse(text))


@lru_cache(maxsize=4096)
def parse(text: str) -> Fraction:
    """Return the exact value, rounded up to whole nano-units; raise `ValueError` with the real server's sentence."""
    return _parse(text)[0]


def is_positive(text: str) -> bool:
    """Return whether a quantity is more than zero."""
    return parse(text).numerator > 0


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return the form in which the real server stores a quantity; raise `ValueError` for anything else."""
    value, suffix = _parse(text)
    return text if value and _stays(text, suffix) else _formatted(value, suffix)


def _formatted(value: Fraction, suffix: str) -> str:
    """Return a value in the form that its suffix belongs to, with the largest suffix that needs no fraction."""
    if value == 0:
        return "0"
    if suffix in BINARY and abs(value) >= 1024 and value.denominator == 1:
        return _with_largest_suffix(value, [(name, Fraction(2**power)) for name, power in BINARY.items()])
    if _EXPONENT.fullmatch(suffix):
        return _with_largest_suffix(value, [(f"e{p}" if p else "", Fraction(10) ** p) for p in range(-9, 19, 3)])
    return _with_largest_suffix(value, [(name, Fraction(10) ** power) for name, power in DECIMAL.items()])


def _stays(text: str, suffix: str) -> bool:
    """Whether the real server, which then spares itself the work, keeps a text as it is, be it canonical or not."""
    whole, _, part = text.removesuffix(suffix).lstrip("+-").lstrip("0").partition(".")
    digits = whole + part
    if suffix in BINARY:
        room = 15 - len(whole) - BINARY[suffix] * 3 // 10 - 1
        return not part and room >= 0 and int(whole) & 7 != 0
    power = DECIMAL.get(suffix)
    scale = (int(suffix[1:]) if power is None else power) - len(part)
    return len(digits) <= 18 and scale >= -9 and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _parse(text: str) -> tuple[Fraction, str]:
    shape = _SHAPE.fullmatch(text)
    if not text or shape is None:
        raise ValueError(FORMAT_WRONG)
    sign, whole, part, suffix = shape.groups()
    if not whole and not part:
        if suffix or part is None:
            raise ValueError(SUFFIX_WRONG if suffix else FORMAT_WRONG)
        raise ValueError(FORMAT_WRONG)
    value = Fraction(int((whole + (part or "")) or 0), 10 ** len(part or "")) * _scale(suffix)
    if suffix in BINARY:
        value = min(value, Fraction(_LARGEST_BINARY))
    value = Fraction(ceil(value * _NANO), _NANO)
    return (-value if sign == "-" else value), suffix


def _scale(suffix: str) -> Fraction:
    if suffix in BINARY:
        return Fraction(2 ** BINARY[suffix])
    if suffix in DECIMAL:
        return Fraction(10) ** DECIMAL[suffix]
    if (exponent := _EXPONENT.fullmatch(suffix)) and abs(int(exponent[1])) < 1000:
        return Fraction(10) ** int(exponent[1])
    raise ValueError(SUFFIX_WRONG)


def _with_largest_suffix(value: Fraction, suffixes: list[tuple[str, Fraction]]) -> str:
    whole = [(name, value / unit) for name, unit in suffixes if (value / unit).denominator == 1]
    name, count = whole[-1] if whole else ("", value)
    return f"{count}{name}"


@lru_cache(maxsize=4096)
def at_least_milli(text: str) -> str:
    """Return a canonical quantity rounded up to whole thousandths, as the real server does in lists of resources."""
    value, suffix = _parse(text)
    if suffix not in ("n", "u"):
        return text
    return canonical(f"{ceil(value * 1000)}m")
