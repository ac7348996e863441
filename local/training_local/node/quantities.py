"""Kubernetes resource quantities such as `500m`, `1.5Gi` or `2e3`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

from training_local.node.podspec import Quantity

_PATTERN = re.compile(r"([+-]?[0-9.]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}


def parse(quantity: Quantity) -> Decimal:
    """The number a quantity stands for; raises `ValueError` if it is none."""
    found = _PATTERN.fullmatch(str(quantity))
    if not found or found[1].count(".") > 1 or found[1].strip("+-") == ".":
        raise ValueError(f"{quantity!r} is not a quantity such as 500m or 2Gi")
    number, suffix = found[1], found[2] or ""
    if suffix in _SUFFIXES:
        return Decimal(number) * _SUFFIXES[suffix]
    return Decimal(number + suffix)


def divide(quantity: Quantity | Decimal, divisor: Quantity) -> int:
    """How many times `divisor` goes into the quantity, rounded up, as `resourceFieldRef` does."""
    value = quantity if isinstance(quantity, Decimal) else parse(quantity)
    return int((value / (parse(divisor) or 1)).to_integral_value(ROUND_CEILING))
