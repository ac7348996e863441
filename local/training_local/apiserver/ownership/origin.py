"""What a write was, as far as the owners of fields depend on it."""

from __future__ import annotations

from typing import NamedTuple

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership.managed import Managed


class Origin(NamedTuple):
    """The request behind a write; it stands in the stored entry, so that nothing has to be worked out at once."""

    resource: tuple[str, str, str]
    """Group, version and plural of the URL."""
    manager: str
    time: str
    subresource: str = ""
    new: bytes | None = None
    """The object as the request wanted it, before admission, in the version of the URL; None: as it was stored."""
    given: list[Json] | None = None
    """`metadata.managedFields` of the request, if it said anything about it."""
    owners: Managed | None = None
    """The owners after the write, where they are known already: an apply patch works them out."""


class Note(NamedTuple):
    """A write that waits to be worked out."""

    origin: Origin
    live: bytes | None
    """The stored object before, None if there was none."""
    stored: bytes
    """The stored object after."""
