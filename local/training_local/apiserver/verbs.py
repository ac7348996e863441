"""The verbs that change single objects: create, replace, patch, apply, delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass

from training_local.apiserver import metadata
from training_local.apiserver.deletion import Deleted, delete, is_released
from training_local.apiserver.errors import (
    ApiError,
    Cause,
    Json,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_object,
)
from training_local.apiserver.namespaces import NAMESPACES, require_mortal, require_open
from training_local.apiserver.options import DeleteOptions, WriteOptions
from training_local.apiserver.ownership.apply import applied
from training_local.apiserver.ownership.config import read_config
from training_local.apiserver.ownership.managed import UNMANAGED
from training_local.apiserver.ownership.origin import Note, Origin
from training_local.apiserver.ownership.tracker import zero
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.resource_types import Admitted, ResourceType
from training_local.apiserver.state import State, served, stored
from training_local.apiserver.storage import Entry, encode

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write: the object as stored (or as it would be, in a dry run), and warnings."""

    obj: Json
    raw: bytes | None = None
    """The object's JSON where it is stored in the form in which it is served."""
    created: bool = False
    warnings: tuple[str, ...] = ()


def create(state: State, target: RequestInfo, obj: Json, options: WriteOptions) -> Written:
    """Create an object; `obj` is a decoded body, which is taken over."""
    type = target.type
    obj, warnings = decode(type, obj, options)
    return _store_new(state, target, obj, options, warnings=warnings)


def _store_new(
    state: State,
    target: RequestInfo,
    obj: Json,
    options: WriteOptions,
    *,
    origin: Origin | None = None,
    warnings: tuple[str, ...],
) -> Written:
    """Store a decoded object that did not exist, after all checks of a create."""
    type = target.type
    context = state.context(target.namespace)
    origin = origin or _origin(target, obj, None, options, context.now)
    _check_namespace(target, obj)
    meta = obj["metadata"]
    if meta.get("resourceVersion", "0") not in ("", "0"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    metadata.for_create(obj, type, target.namespace, state)
    name = meta.get("name", "")
    if type.namespaced:
        require_open(state, type, target.namespace, name)
    admitted = _accept(type, type.rules.for_create(obj, context), metadata.create_causes(obj, type))
    if state.find(type, target.namespace, name) is not None:
        raise already_exists(type.group, type.plural, name)
    return _put(
        state,
        type,
        admitted.obj,
        options,
        origin=origin,
        created=True,
        warnings=(*warnings, *metadata.warnings(obj, type), *admitted.warnings),
    )


def update(state: State, target: RequestInfo, obj: Json, options: WriteOptions) -> Written:
    """Replace an object, or with a subresource its part of one; `obj` is a decoded body, which is taken over."""
    type = target.type
    obj, warnings = decode(type, obj, options)
    _check_namespace(target, obj)
    _check_name(target, obj)
    entry = state.find(type, target.namespace, target.name)
    if entry is None and type.create_on_update and not target.subresource:
        obj["metadata"].pop("resourceVersion", None)
        return create(state, target, obj, options)
    entry = state.require(type, target.namespace, target.name)
    _check_uid(type, entry, obj)
    return _write_over(state, target, entry, obj, options, warnings=warnings)


def patch(
    state: State,
    target: RequestInfo,
    change: Callable[[Json], Json],
    options: WriteOptions,
    *,
    show_owners: bool = False,
) -> Written:
    """Change an object by a function from its old state, which it may take over, to its new one.

    `show_owners` says that the change is also about `metadata.managedFields`.
    """
    type = target.type
    entry = state.require(type, target.namespace, target.name)
    old = served(type, entry)
    if show_owners and (managed := state.ledger.owners(entry.uid)):
        old["metadata"]["managedFields"] = managed.entries()
    patched = change(old)
    with blaming_patch(patched):
        new, warnings = decode(type, patched, options)
    _check_namespace(target, new)
    _check_name(target, new)
    return _write_over(state, target, entry, new, options, warnings=warnings)


def apply(state: State, target: RequestInfo, body: bytes, options: WriteOptions) -> Written:
    """Make an object what a configuration says, as far as its fields are the applier's (server-side apply)."""
    type = target.type
    entry = state.find(type, target.namespace, target.name)
    if entry is None and target.subresource:
        raise state.missing(type, target.name)
    live = zero(type) if entry is None else served(type, entry)
    config, repeated = read_config(body)
    owners, now = state.ledger.owners(entry.uid) if entry else UNMANAGED, state.timestamp()
    request = state.ledger.request(type, options.manager, now, target.subresource)
    merged, managed = applied(live, config, owners, request, type, force=options.force)
    warnings = _repetitions(repeated, options)
    new, _ = decode(type, deepcopy(merged), options, keep_nulls=True)
    if entry is None and (uid := new["metadata"].get("uid", "")):
        said = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(type.group, type.plural, target.name, said)
    _check_namespace(target, new)
    _check_name(target, new)
    origin = Origin(_resource(type), options.manager, now, target.subresource, owners=managed)
    if entry is None:
        new["metadata"].pop("resourceVersion", None)
        written = _store_new(state, target, new, options, origin=origin, warnings=warnings)
    else:
        written = _write_over(state, target, entry, new, options, origin=origin, warnings=warnings)
    shown = {"managedFields": managed.entries()} if managed else {}
    whole = {**written.obj, "metadata": {**written.obj["metadata"], **shown}}
    return Written(whole, created=written.created, warnings=written.warnings)


@contextmanager
def blaming_patch(patched: Json) -> Iterator[None]:
    """Turn a 400 about an object that cannot be decoded into a 422 about the patch that led to it."""
    try:
        yield
    except ApiError as error:
        if error.code != 400:
            raise
        said = error.message.partition("cannot be handled as a ")[2].partition(": ")[2] or error.message
        raise invalid_object("", "", "", [invalid("patch", encode(patched).decode(), said)]) from error


def decode(
    type: ResourceType, obj: Json, options: WriteOptions, *, keep_nulls: bool = False
) -> tuple[Json, tuple[str, ...]]:
    """Bring a body into the shape of its type; unknown fields are an error, a warning or ignored as asked."""
    _check_kind(type, obj)
    problems = metadata.decoded(obj, type)
    decoded = type.rules.decode(obj, keep_nulls=keep_nulls)
    problems += decoded.problems
    if not problems or options.field_validation == "Ignore":
        return decoded.obj, ()
    if options.field_validation == "Warn":
        return decoded.obj, tuple(problems)
    said = ", ".join(problems)
    raise bad_request(
        f'{type.kind} in version "{type.version}" cannot be handled as a {type.kind}: strict decoding error: {said}'
    )


def _repetitions(repeated: Sequence[str], options: WriteOptions) -> tuple[str, ...]:
    """Return the warning about keys that stand twice in an applied configuration; raises a 400 if strict."""
    if not repeated or options.field_validation == "Ignore":
        return ()
    if options.field_validation == "Strict":
        said = "\n  ".join(["error converting YAML to JSON: yaml: unmarshal errors:", *repeated])
        raise bad_request(f"error strict decoding YAML: {said}")
    return tuple(repeated)


def _origin(target: RequestInfo, new: Json, old: Json | None, options: WriteOptions, now: str) -> Origin:
    """Return what is noted of a write; takes the managed fields out of `new`."""
    meta, subresource = new["metadata"], target.subresource
    given = meta.pop("managedFields", None)
    # What is stored is what was wanted, and need not be written down twice, where nothing but metadata is admitted.
    plain = old is not None and meta == old["metadata"] if subresource == "status" else target.type.custom
    # The real server translates between the owners of a Scale and of the object, and loses the time on the way.
    time = "" if subresource == "scale" else now
    return Origin(
        _resource(target.type),
        options.manager,
        time,
        subresource,
        None if plain and given is None else encode(new),
        given,
    )


def _resource(type: ResourceType) -> tuple[str, str, str]:
    return type.group, type.version, type.plural


def _changes_owners(state: State, entry: Entry, origin: Origin) -> bool:
    """Return whether a write changes owners although it does not change the object."""
    if origin.owners is None and origin.given is None:
        return False
    before = state.ledger.owners(entry.uid)
    return not state.ledger.after(before, Note(origin, entry.raw, entry.raw)).same_fields(before)


def _write_over(
    state: State,
    target: RequestInfo,
    entry: Entry,
    new: Json,
    options: WriteOptions,
    *,
    origin: Origin | None = None,
    warnings: tuple[str, ...],
) -> Written:
    """Store `new` in place of `entry` after all checks of an update."""
    type = target.type
    old, context = served(type, entry), state.context(target.namespace)
    origin = origin or _origin(target, new, old, options, context.now)
    _check_versions(type, entry, new)
    metadata.for_update(old, new, target.subresource, type)
    causes = metadata.update_causes(old, new, type)
    admitted = _accept(type, type.rules.for_update(old, new, target.subresource, context), causes)
    metadata.count_generation(old, admitted.obj, type)
    admitted.obj["metadata"]["resourceVersion"] = str(entry.version)
    said = (*warnings, *admitted.warnings)
    if admitted.obj == old and not _changes_owners(state, entry, origin):
        return Written(old, raw=None if type.conversion else entry.raw, warnings=said)
    if is_released(type, admitted.obj):
        if not options.dry_run:
            state.storage.remove(type.store, entry)
        return Written(admitted.obj, warnings=said)
    return _put(state, type, admitted.obj, options, origin=origin, created=False, warnings=said)


def remove(state: State, target: RequestInfo, options: DeleteOptions) -> Deleted:
    """Delete one object."""
    entry = state.require(target.type, target.namespace, target.name)
    if target.type.store == NAMESPACES:
        require_mortal(target.name)
    return delete(state, target.type, entry, options)


def _put(
    state: State,
    type: ResourceType,
    obj: Json,
    options: WriteOptions,
    *,
    origin: Origin,
    created: bool,
    warnings: tuple[str, ...],
) -> Written:
    if options.dry_run:
        return Written(obj, created=created, warnings=warnings)
    entry = state.storage.put(type.store, stored(type, obj), origin)
    raw = None if type.conversion else entry.raw
    return Written(served(type, entry) if type.conversion else obj, raw, created, warnings)


def _accept(type: ResourceType, admitted: Admitted, metadata_causes: Sequence[Cause]) -> Admitted:
    if causes := (*metadata_causes, *admitted.causes):
        # Of a type that is stored as another one the real server names the group of that.
        raise invalid_object(type.store[0], type.kind, admitted.obj["metadata"].get("name", ""), causes)
    return admitted


def _check_kind(type: ResourceType, obj: Json) -> None:
    """Reject a body of another kind or version; where it says none, that is filled in."""
    kind, api_version = obj.setdefault("kind", type.kind), obj.setdefault("apiVersion", type.api_version)
    if (kind, api_version) == (type.kind, type.api_version):
        return
    if type.custom and api_version == type.api_version:
        meta = obj.get("metadata")
        name = meta.get("name", "") if isinstance(meta, dict) else ""
        raise invalid_object(type.group, str(kind), name, [invalid("kind", kind, f"must be {type.kind}")])
    if type.custom:
        said = f"the API version in the data ({api_version}) does not match the expected API version"
        raise bad_request(f"{said} ({type.api_version})")
    version = str(api_version).rpartition("/")[2]
    handled = f'{kind} in version "{version}" cannot be handled as a {type.kind}'
    if version != type.version:
        said = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:110"'
        raise bad_request(f"{handled}: {said}")
    raise bad_request(f"{handled}: converting ({version}.{kind}) to (core.{type.kind}): unknown conversion")


def _check_namespace(target: RequestInfo, obj: Json) -> None:
    given = obj["metadata"].get("namespace", "")
    if given and given != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if target.type.namespaced:
        obj["metadata"]["namespace"] = target.namespace


def _check_name(target: RequestInfo, obj: Json) -> None:
    named = obj["metadata"].get("name", "")
    if not named:
        said = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        raise bad_request(said)
    if named != target.name:
        raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({target.name})")


def _check_uid(type: ResourceType, entry: Entry, new: Json) -> None:
    given = new["metadata"].get("uid", "")
    if given not in ("", entry.uid):
        key = "/".join(part for part in ("/registry", type.group, type.plural, entry.namespace, entry.name) if part)
        said = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {given}, UID in object meta: {entry.uid}"
        )
        raise conflict(type.group, type.plural, entry.name, said)


def _check_versions(type: ResourceType, entry: Entry, new: Json) -> None:
    given = new["metadata"].get("resourceVersion", "")
    if given in ("", "0"):
        if not type.unconditional_update:
            said = "must be specified for an update"
            raise invalid_object(type.group, type.plural, entry.name, [invalid("metadata.resourceVersion", 0, said)])
    elif given != str(entry.version):
        raise conflict(type.group, type.plural, entry.name, MODIFIED)
