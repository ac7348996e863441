"""What the server must know of a resource type: its names, the peculiarities of its verbs, its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from training_local.apiserver.authorization import Rights
from training_local.apiserver.errors import Cause, Json, qualified

Lookup = Callable[[str, str, str, str], Json | None]
"""Group, plural, namespace ("" for cluster-wide types), name -> a copy of the stored object."""

Review = Callable[[Json, Rights], Json]
"""Object and the rights of who sends it -> answer."""

NameStyle = Literal["subdomain", "label", "label1035", "path-segment"]
"""Allowed names: RFC 1123 subdomain (most) or label (namespaces), RFC 1035 label (services), path segment (RBAC)."""


@dataclass(frozen=True, slots=True)
class Context:
    """What rules may ask besides the object: time and other objects."""

    now: str
    """The moment of the request, RFC 3339 in UTC with whole seconds, as in `creationTimestamp`."""
    namespace: str = ""
    lookup: Lookup = lambda group, plural, namespace, name: None


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object in the shape of its type, and what was dropped to get there."""

    obj: Json
    problems: tuple[str, ...] = ()
    """One entry per dropped field as strict decoding says it: `unknown field "spec.foo"`."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """An object ready to be stored, or the causes of its rejection."""

    obj: Json
    causes: tuple[Cause, ...] = ()
    """Everything wrong below `spec`, `status`, `data` ...; the server adds those of `metadata` and answers 422."""
    warnings: tuple[str, ...] = ()
    """Sentences for `Warning` headers."""


class Rules(Protocol):
    """The rules of one type, pure. They may change the object they are given (`obj`, `new`), never `old`.

    `metadata` is the server's: rules validate and change nothing in it. `apiVersion` and `kind` are set and right.
    Errors other than causes (403 of an admission rule, 400) are raised as `ApiError`.
    """

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        """Prune unknown fields and fill in defaults; raise a 400 where a builtin type cannot hold a value.

        Called once for every body of a create or update, and for the outcome of every patch. After an apply patch
        the nulls of custom resources stay, and are rejected by their schema.
        """
        ...

    def for_create(self, obj: Json, context: Context) -> Admitted:
        """Prepare a decoded object for its creation (no status where it is a subresource), and validate it."""
        ...

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        """Prepare and validate a decoded update of `old`; `subresource` is "" or "status".

        With "" the stored status survives where status is a subresource; with "status" nothing but the status changes.
        """
        ...


class NoRules:
    """Rules of what is never stored."""

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        """Take it as it is."""
        return Decoded(obj)

    def for_create(self, obj: Json, context: Context) -> Admitted:
        """Take it as it is."""
        return Admitted(obj)

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        """Take it as it is."""
        return Admitted(new)


class Conversion(Protocol):
    """Turns objects of a served version into the stored version and back; both may reuse parts of their input."""

    def to_storage(self, obj: Json) -> Json:
        """Return the stored form."""
        ...

    def from_storage(self, obj: Json) -> Json:
        """Return the served form."""
        ...


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`: `value` reads a cell from an object; priority above 0 shows in wide output only."""

    name: str
    type: str
    value: Callable[[Json, str], Any]
    """Object and now (RFC 3339) -> cell."""
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the scale subresource of a custom resource finds its fields: paths as in the CRD, with leading dot."""

    replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True)
class ResourceType:
    """One resource in one served version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    rules: Rules
    namespaced: bool = True
    list_kind: str = ""
    """Kind of lists; `<kind>List` where empty."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    """Of "status", "scale", "log", "exec", "portforward", "binding", "eviction", "finalize", "token"."""
    verbs: frozenset[str] = frozenset(
        {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
    )
    names: NameStyle = "subdomain"
    generation: bool = False
    """Whether the server counts changes outside metadata (and status, if a subresource) in `metadata.generation`."""
    unconditional_update: bool = True
    """Whether a PUT may leave out the resource version (custom resources, leases: no)."""
    create_on_update: bool = False
    """Whether a PUT of an absent object creates it (leases, events: yes)."""
    returns_deleted: bool = False
    """Whether DELETE answers with the deleted object rather than with a Status (pods, services: yes)."""
    selectable: Mapping[str, Callable[[Json], str]] = field(default_factory=dict)
    """Field selectors beyond `metadata.name` and `metadata.namespace`: path -> value as text."""
    columns: tuple[Column, ...] = ()
    schema: Json | None = None
    """OpenAPI v3 schema of the type, with `x-kubernetes-patch-*` and `x-kubernetes-list-*` extensions."""
    scale: ScalePaths | None = None
    conversion: Conversion | None = None
    """Needed where several served types share one store; `None`: stored as served."""
    stored_as: tuple[str, str] | None = None
    """(group, plural) of the store where it is not the type's own (events of two groups share one)."""
    review: Review | None = None
    """Answers what can only be created and is answered instead of stored."""
    custom: bool = False
    """Whether a CustomResourceDefinition declares the type."""
    stored_version: str = ""
    """Version of its CRD that is stored; of custom types only."""

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion` in objects of the type."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def lists_kind(self) -> str:
        """Return the kind of lists of the type."""
        return self.list_kind or f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """Return `plural.group` as messages name the type."""
        return qualified(self.group, self.plural)

    @property
    def store(self) -> tuple[str, str]:
        """Return the key of the store that holds the objects."""
        return self.stored_as or (self.group, self.plural)
