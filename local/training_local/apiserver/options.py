"""Query parameters and delete options, read once into values (Kubernetes API concepts)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training_local.apiserver.errors import (
    ApiError,
    Cause,
    Json,
    bad_request,
    forbidden_value,
    invalid,
    invalid_object,
    json_kind,
    not_supported,
    required,
)

_SYNTAX = 'strconv.{}: parsing "{}": invalid syntax'

Query = Mapping[str, str]
_DELETE_FIELDS: Mapping[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "orphanDependents": (bool, "bool"),
    "dryRun": (list, "[]string"),
    "preconditions": (dict, "v1.Preconditions"),
}
_MANAGER_LIMIT = 128
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to treat a create, update or patch."""

    dry_run: bool = False
    field_validation: str = "Warn"
    manager: str = ""
    """Who comes to own what the write changes."""
    force: bool = False
    """Whether an apply takes over fields that others own."""

    @classmethod
    def of(cls, query: Query, kind: str, *, user_agent: str = "", apply: bool = False) -> WriteOptions:
        """Read the options of a write; `kind` is the options' own kind, for messages."""
        validation = query.get("fieldValidation", "") or "Warn"
        causes = _manager_causes(query, apply, kind == "PatchOptions")
        causes += _dry_run_causes([query["dryRun"]] if query.get("dryRun") else [])
        if validation not in ("Strict", "Warn", "Ignore"):
            causes.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
        if causes:
            raise invalid_object("meta.k8s.io", kind, "", causes)
        return cls(
            dry_run=bool(query.get("dryRun")),
            field_validation=validation,
            manager=query.get("fieldManager", "") or _agent_name(user_agent),
            force=flag(query, "force"),
        )


def _agent_name(user_agent: str) -> str:
    """Return the name of a client that does not say under which name it writes."""
    name = user_agent.partition("/")[0]
    return (name if name.isprintable() else "".join(filter(str.isprintable, name)))[:_MANAGER_LIMIT]


def _manager_causes(query: Query, apply: bool, patch: bool) -> list[Cause]:
    manager, causes = query.get("fieldManager", ""), list[Cause]()
    if not (manager or apply or "force" in query):
        return causes
    if apply and not manager:
        causes.append(required("fieldManager", "is required for apply patch"))
    if patch and not apply and "force" in query:
        causes.append(forbidden_value("force", "may not be specified for non-apply patch"))
    if len(manager) > _MANAGER_LIMIT:
        said = f"Too long: may not be more than {_MANAGER_LIMIT} bytes"
        causes.append(Cause("FieldValueTooLong", said, "fieldManager"))
    causes += [
        invalid("fieldManager", manager, f"invalid character U+{ord(letter):04X} (at position {position})")
        for position, letter in enumerate(manager)
        if not letter.isprintable()
    ]
    return causes


def _dry_run_causes(values: list[str]) -> list[Cause]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", values, ("All",))]


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete: grace in seconds (None: the object's own), propagation (None: the type's own), preconditions."""

    grace: int | None = None
    propagation: str | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False

    @classmethod
    def of(cls, query: Query, body: Json) -> DeleteOptions:
        """Read the options of a deletion from the body, or from the query if there is no body."""
        given: Json = dict(body)
        if not given:
            given = {name: query[name] for name in ("propagationPolicy",) if query.get(name)}
            if "gracePeriodSeconds" in query:
                given["gracePeriodSeconds"] = whole_number(query, "gracePeriodSeconds")
            if "orphanDependents" in query:
                given["orphanDependents"] = flag(query, "orphanDependents")
            if query.get("dryRun"):
                given["dryRun"] = [query["dryRun"]]
        preconditions = given.get("preconditions") or {}
        propagation = given.get("propagationPolicy")
        orphan = given.get("orphanDependents")
        _check_delete(given, propagation, orphan)
        if orphan is not None:
            propagation = "Orphan" if orphan else "Background"
        return cls(
            grace=given.get("gracePeriodSeconds"),
            propagation=propagation,
            uid=preconditions.get("uid"),
            version=preconditions.get("resourceVersion"),
            dry_run=bool(given.get("dryRun")),
        )


def _check_delete(given: Json, propagation: Any, orphan: Any) -> None:
    for name, (expected, shown) in _DELETE_FIELDS.items():
        if given.get(name) is not None and not isinstance(given[name], expected):
            said = json_kind(given[name])
            message = f"json: cannot unmarshal {said} into Go struct field DeleteOptions.{name} of type {shown}"
            raise ApiError(500, "", message)
    causes: list[Cause] = []
    if propagation is not None and orphan is not None:
        causes.append(
            invalid("propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set")
        )
    elif propagation is not None and propagation not in _POLICIES:
        causes.append(not_supported("propagationPolicy", propagation, (*_POLICIES, "nil")))
    causes += _dry_run_causes(given.get("dryRun") or [])
    if causes:
        raise invalid_object("meta.k8s.io", "DeleteOptions", "", causes)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list or watch, from which version on, for how long."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    resume: str = ""
    """The `continue` token."""
    version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: int | None = None

    @classmethod
    def of(cls, query: Query) -> ListOptions:
        """Read the options; raises a 400 for malformed values, a 422 for combinations that make no sense."""
        options = cls(
            labels=query.get("labelSelector", ""),
            fields=query.get("fieldSelector", ""),
            limit=whole_number(query, "limit") or 0,
            resume=query.get("continue", ""),
            version=query.get("resourceVersion", ""),
            match=query.get("resourceVersionMatch", ""),
            watch=flag(query, "watch"),
            bookmarks=flag(query, "allowWatchBookmarks"),
            initial_events=flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
            timeout=whole_number(query, "timeoutSeconds"),
        )
        causes = _watch_causes(options) if options.watch else _list_causes(options)
        if causes:
            raise invalid_object("meta.k8s.io", "ListOptions", "", causes)
        return options

    def version_number(self) -> int | None:
        """Return the resource version as a number, None if there is none."""
        if not self.version:
            return None
        if not self.version.isascii() or not self.version.isdigit():
            cause = invalid("resourceVersion", self.version, _SYNTAX.format("ParseUint", self.version))
            # The real server does not foresee this when it starts a watch.
            raise ApiError(500, "", str(cause)) if self.watch else bad_request(f"invalid resource version: {cause}")
        return int(self.version)


def _watch_causes(options: ListOptions) -> list[Cause]:
    path, causes = "resourceVersionMatch", list[Cause]()
    if options.match and options.initial_events is None:
        said = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_value(path, said))
    elif options.initial_events is not None and options.match != "NotOlderThan":
        causes.append(forbidden_value(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if options.match not in ("", "NotOlderThan"):
        causes.append(not_supported(path, options.match, ("NotOlderThan",)))
    return causes


def _list_causes(options: ListOptions) -> list[Cause]:
    path, match = "resourceVersionMatch", options.match
    if options.initial_events is not None:
        return [forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list")]
    if match and options.resume:
        return [forbidden_value(path, "resourceVersionMatch is forbidden when continue is provided")]
    if match and not options.version:
        return [forbidden_value(path, "resourceVersionMatch is forbidden unless resourceVersion is provided")]
    if match not in ("", "Exact", "NotOlderThan"):
        return [not_supported(path, match, ("Exact", "NotOlderThan", ""))]
    if match == "Exact" and options.version == "0":
        return [forbidden_value(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
    return []


def continue_token(version: int, start: str) -> str:
    """Return the token that lets a list go on at `version`, after the key `start`."""
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_continue(token: str) -> tuple[int, str]:
    """Return version and key of a token; raises a 400 for others than ours."""
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(content["rv"]), str(content["start"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request("invalid continue token: continue key is not valid: unreadable") from error


def whole_number(query: Query, name: str) -> int | None:
    """Return a query parameter as a number, None if it is absent."""
    if not (text := query.get(name, "")):
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(_SYNTAX.format("ParseInt", text)) from None


def flag(query: Query, name: str) -> bool:
    """Return a query parameter as true or false: present means true, but for "false" and "0"."""
    return name in query and query[name].lower() not in ("false", "0")
