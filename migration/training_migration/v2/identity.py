"""What a cluster gives out by chance, here always the same for the same object."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

Json = dict[str, Any]

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Of which Kubernetes makes the ends of generated names."""


@lru_cache(maxsize=256)
def uid(kind: str, namespace: str, name: str) -> str:
    """Stands for the UID that the API server would give."""
    return str(uuid5(NAMESPACE_URL, f"{kind}/{namespace}/{name}"))


def name_end(stem: str) -> str:
    """Stands for the five characters that end a generated name."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in sha256(stem.encode()).digest()[:5])


def owned_by(api_version: str, kind: str, namespace: str, name: str) -> list[Json]:
    """The owner references of what a controller made for an object."""
    reference = {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid(kind, namespace, name),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return [reference]
