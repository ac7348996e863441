"""The forms in which objects are answered: themselves, a Table for `kubectl get`, or their metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training_local.apiserver.errors import Json, not_acceptable
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.tables import to_table

_META = {"apiVersion": "meta.k8s.io/v1"}
_PLAIN = ("application/json", "application/*", "*/*", "")


@dataclass(frozen=True, slots=True)
class View:
    """A form other than the object itself: how to show one object, and how to show a list."""

    name: str
    one: Callable[[Json], Json]
    many: Callable[[Sequence[Json], Json], Json]
    """Objects and the list's metadata -> answer."""


def view(accept: str, type: ResourceType, include: str, now: str) -> View | None:
    """Return the form that an Accept header prefers, None for plain objects; raises a 406 if there is none we write."""
    for wanted in accept.split(","):
        media, *parameters = (part.strip() for part in wanted.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in _PLAIN:
            continue
        match given.get("as"):
            case None:
                return None
            case "Table" if given.get("v") == "v1":
                return _tables(type, include, now)
            case "PartialObjectMetadata" | "PartialObjectMetadataList" if given.get("v") == "v1":
                return View("PartialObjectMetadata", _partial, _partial_list)
    raise not_acceptable(
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )


def _tables(type: ResourceType, include: str, now: str) -> View:
    def many(objects: Sequence[Json], meta: Json) -> Json:
        table = to_table(type, objects, now, include)
        table["metadata"] = meta
        return table

    def one(obj: Json) -> Json:
        return many([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})

    return View(f"Table {include}", one, many)


def _partial(obj: Json) -> Json:
    return {"kind": "PartialObjectMetadata", **_META, "metadata": obj["metadata"]}


def _partial_list(objects: Sequence[Json], meta: Json) -> Json:
    return {
        "kind": "PartialObjectMetadataList",
        **_META,
        "metadata": meta,
        "items": [_partial(obj) for obj in objects],
    }
