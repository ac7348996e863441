"""How a builtin type is declared: its Go shape, and functions for what is special about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from training_local.apiserver.builtin.go_types import Decode, GoError, TypeMismatch
from training_local.apiserver.builtin.schemas import go_types
from training_local.apiserver.errors import Cause, Json, bad_request
from training_local.apiserver.resource_types import Admitted, Context, Decoded


@dataclass(frozen=True)
class BuiltinRules:
    """The rules of one builtin type; `Rules` of `resource_types`."""

    component: str
    """Name of its schema, for example `io.k8s.api.core.v1.Pod`."""
    version: str
    default: Callable[[Json], None] = lambda obj: None
    """Fill in what the type's defaulting fills in, at every decoding."""
    prepare: Callable[[Json, Context], None] = lambda obj, context: None
    """Set what a new object starts with, and apply admission; `ApiError` rejects it."""
    prepare_update: Callable[[Json, Json], None] = lambda old, new: None
    """Carry over from the old object what an update may leave out."""
    validate: Callable[[Json], Iterable[Cause]] = lambda obj: ()
    """Check a whole object, new or updated."""
    validate_update: Callable[[Json, Json], Iterable[Cause]] = lambda old, new: ()
    """Check what may change from the old object to the new one."""
    validate_status: Callable[[Json, Json], Iterable[Cause]] = lambda old, new: ()
    """Check a change of the status."""
    warn: Callable[[Json], Iterable[str]] = lambda obj: ()
    """Say what is allowed, but probably not meant."""
    has_status: bool = True
    """Whether status is a subresource."""
    initial_status: Callable[[Json, Context], Json | None] | None = None
    """The status of a new object; where absent, what the client sent stays."""

    @property
    def kind(self) -> str:
        """Return the kind, the last part of the component's name."""
        return self.component.rpartition(".")[2]

    @cached_property
    def _decode(self) -> Decode:
        return go_types().decoder(self.component)

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        """See `Rules.decode`."""
        problems: list[str] = []
        try:
            decoded: Json = self._decode(obj, None, problems)
        except (GoError, TypeMismatch) as error:
            said = f'{self.kind} in version "{self.version}" cannot be handled as a {self.kind}: {error}'
            raise bad_request(said) from None
        self.default(decoded)
        return Decoded(decoded, tuple(problems))

    def for_create(self, obj: Json, context: Context) -> Admitted:
        """See `Rules.for_create`."""
        if self.initial_status is not None:
            _set(obj, "status", self.initial_status(obj, context))
        self.prepare(obj, context)
        return Admitted(obj, tuple(self.validate(obj)), tuple(self.warn(obj)))

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        """See `Rules.for_update`."""
        if subresource == "status":
            new = {**{key: value for key, value in old.items() if key != "status"}, **_own(new)}
            self.prepare_update(old, new)
            return Admitted(new, tuple(self.validate_status(old, new)))
        if self.has_status:
            _set(new, "status", old.get("status"))
        self.prepare_update(old, new)
        return Admitted(new, (*self.validate(new), *self.validate_update(old, new)), tuple(self.warn(new)))


def _own(new: Json) -> Json:
    return {key: new[key] for key in ("apiVersion", "kind", "metadata", "status") if key in new}


def _set(obj: Json, key: str, value: Json | None) -> None:
    if value is None:
        obj.pop(key, None)
    else:
        obj[key] = value
