"""Lists: selectors, pages, and the state as of a version (Kubernetes API concepts, "Resource versions")."""

from __future__ import annotations

from dataclasses import dataclass

from training_local.apiserver.deletion import delete
from training_local.apiserver.errors import ApiError, expired
from training_local.apiserver.options import DeleteOptions, ListOptions, continue_token, read_continue
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.selectors import field_selector, label_selector
from training_local.apiserver.state import State, served
from training_local.apiserver.storage import Compacted, Entry

_TOO_OLD = "The resourceVersion for the provided list is too old."
_TOKEN_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list."""

    entries: list[Entry]
    version: int
    resume: str = ""
    remaining: int | None = None


def select(state: State, target: RequestInfo, options: ListOptions) -> Listing:
    """List objects as of the version asked for, page by page; raises a 410 if that version is forgotten."""
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
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {current}", details)


def remove_collection(state: State, target: RequestInfo, listing: ListOptions, options: DeleteOptions) -> Listing:
    """Delete what now has the names on a list, which may be one of an earlier version; returns that list."""
    found = select(state, target, listing)
    collection = state.storage.collection(target.type.store)
    for entry in found.entries:
        if (present := collection.get(entry.namespace, entry.name)) is not None:
            delete(state, target.type, present, options)
    return found
