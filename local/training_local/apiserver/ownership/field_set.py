"""Sets of field paths, and their algebra (structured-merge-diff's `fieldpath`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from training_local.apiserver.ownership import elements
from training_local.apiserver.ownership.elements import Path

_SELF = "."


class FieldSet:
    """A set of field paths as a tree; a path is a member apart from the paths below it.

    Operations return new sets, which may share parts with their operands: only a set under construction is changed.
    """

    __slots__ = ("children", "members")

    def __init__(self, members: Iterable[str] = (), children: Iterable[tuple[str, FieldSet]] = ()) -> None:
        self.members = set(members)
        self.children = {element: child for element, child in children if child}

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """Return the set of these paths."""
        found = cls()
        for path in paths:
            found.insert(path)
        return found

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> FieldSet:
        """Read the format FieldsV1; elements of unknown kinds are left out. Raises ValueError."""
        return cls._read(fields)[0]

    @classmethod
    def _read(cls, fields: Any) -> tuple[FieldSet, bool]:
        """Return what is below a path, and whether the path itself is a member."""
        if not isinstance(fields, dict):
            raise ValueError(f"fields are an object, not {fields!r}")
        found = cls()
        for name, below in fields.items():
            if not name.startswith(elements.OWNED_KINDS):
                continue
            element, (child, member) = elements.read(name), cls._read(below)
            if member:
                found.members.add(element)
            if child:
                found.children[element] = child
        return found, _SELF in fields or not found

    def written(self) -> dict[str, Any]:
        """Return the set in the format FieldsV1."""
        fields: dict[str, Any] = {}
        for element in sorted(self.members | self.children.keys()):
            child = self.children.get(element)
            below = child.written() if child else {}
            fields[element] = {_SELF: {}, **below} if below and element in self.members else below
        return fields

    def insert(self, path: Path) -> None:
        """Add a path to a set under construction; the empty path, the whole object, has no owner."""
        if not path:
            return
        place = self
        for element in path[:-1]:
            if (child := place.children.get(element)) is None:
                child = place.children[element] = FieldSet()
            place = child
        place.members.add(path[-1])

    def below(self, element: str) -> FieldSet:
        """Return the paths that begin with `element`, without it."""
        return self.children.get(element, EMPTY)

    def paths(self, above: Path = ()) -> Iterator[Path]:
        """Return all paths in the order of the real server's messages."""
        for element in sorted(self.members, key=elements.order):
            yield (*above, element)
        for element in sorted(self.children, key=elements.order):
            yield from self.children[element].paths((*above, element))

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __contains__(self, path: Path) -> bool:
        place = self
        for element in path[:-1]:
            place = place.below(element)
        return bool(path) and path[-1] in place.members

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.members == other.members and self.children == other.children

    __hash__ = None  # type: ignore[assignment]  # changed while it is built

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(elements.text(path) for path in self.paths())})"

    def __or__(self, other: FieldSet) -> FieldSet:
        children = {**self.children, **other.children}
        for element in self.children.keys() & other.children.keys():
            children[element] = self.children[element] | other.children[element]
        return FieldSet(self.members | other.members, children.items())

    def __and__(self, other: FieldSet) -> FieldSet:
        both = self.children.keys() & other.children.keys()
        children = ((element, self.children[element] & other.children[element]) for element in both)
        return FieldSet(self.members & other.members, children)

    def __sub__(self, other: FieldSet) -> FieldSet:
        """Return the paths that are not in `other`; those below a path of `other` stay."""
        children = (
            (element, child - other.children[element] if element in other.children else child)
            for element, child in self.children.items()
        )
        return FieldSet(self.members - other.members, children)

    def without_trees(self, other: FieldSet) -> FieldSet:
        """Return the paths that are neither in `other` nor below a path of `other`."""
        if not other:
            return self
        children = (
            (element, child.without_trees(other.below(element)))
            for element, child in self.children.items()
            if element not in other.members
        )
        return FieldSet(self.members - other.members, children)


EMPTY = FieldSet()
