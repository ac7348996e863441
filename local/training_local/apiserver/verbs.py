"""The verbs that read and write single objects, and the collections they stand in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training_local.apiserver import metadata
from training_local.apiserver.deletion import Deleted, delete, finish_if_released
from training_local.apiserver.errors import (
    ApiError,
    Cause,
    Json,
    already_exists,
    bad_request,
    conflict,
    expired,
    invalid,
    invalid_object,
)
from training_local.apiserver.namespaces import NAMESPACES, require_mortal, require_open
from training_local.apiserver.options import DeleteOptions, ListOptions, WriteOptions, continue_token, read_continue
from training_local.apiserver.resource_types import Admitted, ResourceType
from training_local.apiserver.selectors import field_selector, label_selector
from training_local.apiserver.state import State, served, stored
from training_local.apiserver.storage import Compacted, Entry

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_TOO_OLD = "The resourceVersion for the provided list is too old."
_TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about: a type, and a namespace and name where the path has them."""

    type: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write: the object as stored (or as it would be, in a dry run), and warnings."""

    obj: Json
    raw: bytes | None = None
    """The object's JSON where it is stored in the form in which it is served."""
    created: bool = False
    warnings: tuple[str, ...] = ()


def create(state: State, target: Target, obj: Json, options: WriteOptions) -> Written:
    """Create an object; `obj` is a decoded body, which is taken over."""
    type = target.type
    obj, warnings = decode(type, obj, options)
    _check_namespace(target, obj)
    meta = obj["metadata"]
    if meta.get("resourceVersion", "0") not in ("", "0"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    metadata.for_create(obj, type, target.namespace, state)
    name = meta.get("name", "")
    if type.namespaced:
        require_open(state, type, target.namespace, name)
    context = state.context(target.namespace)
    admitted = _accept(type, type.rules.for_create(obj, context), metadata.create_causes(obj, type))
    if state.find(type, target.namespace, name) is not None:
        raise already_exists(type.group, type.plural, name)
    return _put(state, type, admitted.obj, options, created=True, warnings=(*warnings, *admitted.warnings))


def update(state: State, target: Target, obj: Json, options: WriteOptions) -> Written:
    """Replace an object, or with a subresource its part of one; `obj` is a decoded body, which is taken over."""
    type = target.type
    obj, warnings = decode(type, obj, options)
    _check_namespace(target, obj)
    named = obj["metadata"].get("name", "")
    if named != target.name:
        if not named:
            raise bad_request("name must be provided")
        raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({target.name})")
    entry = state.find(type, target.namespace, target.name)
    if entry is None and type.create_on_update and not target.subresource:
        obj["metadata"].pop("resourceVersion", None)
        return create(state, target, obj, options)
    return write_over(state, target, state.require(type, target.namespace, target.name), obj, options, warnings)


def patch(state: State, target: Target, change: Callable[[Json], Json], options: WriteOptions) -> Written:
    """Change an object by a function from its old state to its new one."""
    type = target.type
    entry = state.require(type, target.namespace, target.name)
    old = served(type, entry)
    new = change(old)
    new, warnings = decode(type, new, options)
    return write_over(state, target, entry, new, options, warnings)


def decode(type: ResourceType, obj: Json, options: WriteOptions) -> tuple[Json, tuple[str, ...]]:
    """Bring a body into the shape of its type; unknown fields are refused, returned as warnings or ignored as asked."""
    _check_kind(type, obj)
    problems = metadata.decoded(obj, type)
    decoded = type.rules.decode(obj)
    problems += decoded.problems
    if not problems or options.field_validation == "Ignore":
        return decoded.obj, ()
    if options.field_validation == "Warn":
        return decoded.obj, tuple(problems)
    said = ", ".join(problems)
    raise bad_request(
        f'{type.kind} in version "{type.version}" cannot be handled as a {type.kind}: strict decoding error: {said}'
    )


def write_over(
    state: State, target: Target, entry: Entry, new: Json, options: WriteOptions, warnings: Sequence[str] = ()
) -> Written:
    """Store `new` in place of `entry` after all checks of an update."""
    type = target.type
    old = served(type, entry)
    _check_versions(type, entry, new)
    metadata.for_update(old, new, target.subresource, type)
    context = state.context(target.namespace)
    causes = metadata.update_causes(old, new, type)
    admitted = _accept(type, type.rules.for_update(old, new, target.subresource, context), causes)
    metadata.count_generation(old, admitted.obj, type)
    admitted.obj["metadata"]["resourceVersion"] = str(entry.version)
    said = (*warnings, *admitted.warnings)
    if admitted.obj == old:
        return Written(old, raw=None if type.conversion else entry.raw, warnings=said)
    if not options.dry_run and finish_if_released(state, type, admitted.obj):
        return Written(admitted.obj, warnings=said)
    return _put(state, type, admitted.obj, options, created=False, warnings=said)


def remove(state: State, target: Target, options: DeleteOptions) -> Deleted:
    """Delete one object."""
    entry = state.require(target.type, target.namespace, target.name)
    if target.type.store == NAMESPACES:
        require_mortal(target.name)
    return delete(state, target.type, entry, options)


def remove_collection(state: State, target: Target, listing: ListOptions, options: DeleteOptions) -> list[Json]:
    """Delete all objects that a list would show; returns their last states."""
    found = select(state, target, listing)
    return [delete(state, target.type, entry, options).obj for entry in found.entries]


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list."""

    entries: list[Entry]
    version: int
    resume: str = ""
    remaining: int | None = None


def select(state: State, target: Target, options: ListOptions) -> Listing:
    """List the objects of a collection, as of the version asked for and page by page; raises a 410 if that is forgotten."""
    type, collection = target.type, state.storage.collection(target.type.store)
    labels, fields = label_selector(options.labels), field_selector(options.fields, type)
    version, start = _as_of(state, options)
    try:
        found = collection.entries(target.namespace or None, at=version)
    except Compacted as error:
        raise _too_old(state, options, start) from error
    shown_version = state.storage.version if version is None else version
    matching = [
        entry
        for entry in found
        if entry.key > start
        and (not target.name or entry.name == target.name)
        and labels.matches(entry.labels)
        and (not fields.conditions or fields.matches(served(type, entry)))
    ]
    if not options.limit or len(matching) <= options.limit:
        return Listing(matching, shown_version)
    page = matching[: options.limit]
    # The server counts what is left only where it need not look into objects for that.
    remaining = None if options.labels or options.fields else len(matching) - len(page)
    return Listing(page, shown_version, continue_token(shown_version, page[-1].key), remaining)


def _as_of(state: State, options: ListOptions) -> tuple[int | None, str]:
    """Return the version to list at (None: the latest) and the key to go on after."""
    if options.resume:
        version, start = read_continue(options.resume)
        return (version if version > 0 else None), start
    asked = options.version_number()
    if asked is not None and asked > state.storage.version:
        raise _too_new(asked, state.storage.version)
    exact = options.match == "Exact" or (not options.match and options.limit and asked)
    return (asked if exact else None), ""


def _too_old(state: State, options: ListOptions, start: str) -> ApiError:
    if not options.resume:
        return expired(_TOO_OLD)
    error = expired(_TOKEN_TOO_OLD)
    error.metadata = {"continue": continue_token(-1, start)}
    return error


def _too_new(asked: int, current: int) -> ApiError:
    cause = Cause("ResourceVersionTooLarge", "Too large resource version", "")
    details = {"causes": [{"reason": cause.reason, "message": cause.message}], "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {current}", details)


def _put(
    state: State, type: ResourceType, obj: Json, options: WriteOptions, *, created: bool, warnings: tuple[str, ...]
) -> Written:
    if options.dry_run:
        return Written(obj, created=created, warnings=warnings)
    entry = state.storage.put(type.store, stored(type, obj))
    raw = None if type.conversion else entry.raw
    return Written(served(type, entry) if type.conversion else obj, raw, created, warnings)


def _accept(type: ResourceType, admitted: Admitted, metadata_causes: Sequence[Cause]) -> Admitted:
    if causes := (*metadata_causes, *admitted.causes):
        raise invalid_object(type.group, type.kind, admitted.obj["metadata"].get("name", ""), causes)
    return admitted


def _check_kind(type: ResourceType, obj: Json) -> None:
    kind, api_version = obj.setdefault("kind", type.kind), obj.setdefault("apiVersion", type.api_version)
    if (kind, api_version) == (type.kind, type.api_version):
        return
    group, _, version = str(api_version).rpartition("/")
    raise bad_request(
        f'{kind} in version "{version}" cannot be handled as a {type.kind}: '
        f'no kind "{kind}" is registered for version "{api_version}" in scheme'
        if not group and version != "v1"
        else f"the API version in the data ({api_version}) does not match the expected API version ({type.api_version})"
        if api_version != type.api_version
        else f'{kind} in version "{version}" cannot be handled as a {type.kind}: converting'
    )


def _check_namespace(target: Target, obj: Json) -> None:
    given = obj["metadata"].get("namespace", "")
    if given and given != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if target.type.namespaced:
        obj["metadata"]["namespace"] = target.namespace


def _check_versions(type: ResourceType, entry: Entry, new: Json) -> None:
    meta = new["metadata"]
    if meta.get("uid", "") not in ("", entry.uid):
        said = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {entry.uid}"
        raise conflict(type.group, type.plural, entry.name, said)
    given = meta.get("resourceVersion", "")
    if given in ("", "0"):
        if not type.unconditional_update:
            said = "must be specified for an update"
            raise invalid_object(type.group, type.kind, entry.name, [invalid("metadata.resourceVersion", 0, said)])
    elif given != str(entry.version):
        raise conflict(type.group, type.plural, entry.name, MODIFIED)
