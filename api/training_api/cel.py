"""Pieces of CEL; only of its standard, without the extensions of Kubernetes, so that any evaluator will do."""

from __future__ import annotations

from collections.abc import Iterable


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_type(variable: str, types: Iterable[str]) -> str:
    """Whether a key of the replica map is one of these replica types, in any case."""
    return f"{variable}.matches('(?i)^({'|'.join(types)})$')"


def has_type(replicas: str, *types: str) -> str:
    """Whether the replica map has one of these replica types, in any case."""
    return f"{replicas}.exists(t, {is_type('t', types)})"
