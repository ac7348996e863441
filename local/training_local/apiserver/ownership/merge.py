"""What a write does to ownership: an update takes what it changes, an apply takes what it says, and may conflict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from training_local.apiserver.errors import Json
from training_local.apiserver.ownership.combine import merge, remove, with_named_fields
from training_local.apiserver.ownership.elements import Path
from training_local.apiserver.ownership.field_set import EMPTY, FieldSet
from training_local.apiserver.ownership.levels import Level
from training_local.apiserver.ownership.managed import NEVER_OWNED, Managed, Manager, Owned, capped
from training_local.apiserver.ownership.typed import Difference, compare, field_set

BEFORE_FIRST_APPLY = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of a kind in one version, and the way there from the other versions."""

    level: Level
    convert: Callable[[Json], Json]
    """The result may share parts of the input."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a write says about itself."""

    version: str
    """The `apiVersion` of the objects that are handed over with it."""
    manager: str
    time: str
    subresource: str = ""
    ignored: FieldSet = field(default_factory=FieldSet)
    """What this write cannot change: no manager comes to own it."""
    shapes: Callable[[str], Shape | None] = lambda version: None
    """`apiVersion` -> shape; None for versions that are no longer served."""

    @property
    def level(self) -> Level:
        """Return the schema of the request's own version."""
        shape = self.shapes(self.version)
        assert shape is not None
        return shape.level


class Conflicts(Exception):
    """Fields that others own with other values: manager -> paths."""

    def __init__(self, fields: Mapping[Manager, FieldSet]) -> None:
        super().__init__()
        self.fields = fields

    def without(self, allowed: FieldSet) -> Conflicts:
        """Return the conflicts that are left when some paths may not cause one."""
        left = {manager: paths - allowed for manager, paths in self.fields.items()}
        return Conflicts({manager: paths for manager, paths in left.items() if paths})

    def listed(self) -> list[tuple[Manager, Path]]:
        """Return the single conflicts, sorted by manager."""
        managers = sorted(self.fields, key=lambda manager: manager.identity)
        return [(manager, path) for manager in managers for path in self.fields[manager].paths()]


def update(live: Json, new: Json, managed: Managed, request: Request) -> Managed:
    """Return the owners after a create, replace or patch that turned `live` into `new`."""
    change = compare(live, new, request.level).without_trees(request.ignored)
    others = _after_others_write(live, new, managed, request, change, own=None, force=True)
    taken = ((change.modified | change.added) - NEVER_OWNED).without_trees(request.ignored)
    if not taken:
        return capped(Managed(others))
    me = Manager(request.manager or "unknown", "Update", request.version, request.subresource)
    before = others[me].fields if me in others else EMPTY
    return capped(Managed({**others, me: Owned(taken | before, request.version, request.time)}))


def first_owner(live: Json, request: Request) -> Managed:
    """Return the owners of an object whose owners have not been recorded, when the first apply comes."""
    shape = request.shapes(request.version)
    assert shape is not None
    bare: Json = {key: live[key] for key in ("apiVersion", "kind")}
    stranger = Request(
        request.version, BEFORE_FIRST_APPLY, request.time, request.subresource, request.ignored, request.shapes
    )
    return update(bare, live, Managed(), stranger)


def apply(live: Json, config: Json, managed: Managed, request: Request, *, force: bool) -> tuple[Json, Managed]:
    """Return the object that comes of `live` with `config` applied, and its owners; raises Conflicts.

    The object shares parts of both; where it equals `live`, times stay as they are.
    """
    me = Manager(request.manager, "Apply", subresource=request.subresource)
    merged = merge(live, config, request.level)
    last = managed.owners.get(me)
    said = field_set(config, request.level).without_trees(request.ignored)
    owners = {**managed.owners, me: Owned(said, request.version, last.time if last else "")}
    if last is not None and last.fields:
        merged = _pruned(merged, owners, last, request)
    change = compare(live, merged, request.level).without_trees(request.ignored)
    owners = _after_others_write(live, merged, Managed(owners), request, change, own=me, force=force)
    if (mine := owners.get(me)) is not None:
        fields = mine.fields - NEVER_OWNED
        owners[me] = Owned(fields, mine.version, mine.time if merged == live else request.time)
        if not fields:
            del owners[me]
    return merged, Managed(owners)


def _after_others_write(
    live: Json,
    new: Json,
    managed: Managed,
    request: Request,
    change: Difference,
    *,
    own: Manager | None,
    force: bool,
) -> dict[Manager, Owned]:
    """Take from all but `own` what the write changed; raises Conflicts for changed fields unless forced."""
    changes: dict[str, Difference | None] = {request.version: change}
    conflicts: dict[Manager, FieldSet] = {}
    owners: dict[Manager, Owned] = {}
    for manager, owned in managed.owners.items():
        if manager == own:
            owners[manager] = owned
            continue
        if owned.version not in changes:
            changes[owned.version] = _change_in(owned.version, live, new, request)
        seen = changes[owned.version]
        if seen is None:
            continue
        lost = owned.fields & (seen.modified | seen.added)
        if lost:
            conflicts[manager] = lost
        left = owned.fields - lost - seen.removed
        if left:
            owners[manager] = Owned(left, owned.version, owned.time)
    if conflicts and not force:
        raise Conflicts(conflicts)
    return {manager: owned for manager, owned in owners.items() if owned.fields}


def _change_in(version: str, live: Json, new: Json, request: Request) -> Difference | None:
    """Return what a write changed as seen in another version; None if that is not served any more."""
    if (shape := request.shapes(version)) is None:
        return None
    return compare(shape.convert(live), shape.convert(new), shape.level)


def _pruned(merged: Json, owners: Mapping[Manager, Owned], last: Owned, request: Request) -> Json:
    """Take away what the applier applied last time and not now, unless another manager owns it.

    `owners` has the applier with what it applies now.
    """
    shape, back = request.shapes(last.version), request.shapes(request.version)
    if shape is None or back is None:
        return merged
    whole, before = shape.convert(merged), with_named_fields(last.fields, shape.level)
    pruned = remove(whole, before, shape.level) or {}
    for version in dict.fromkeys((last.version, *(owned.version for owned in owners.values()))):
        if (seen := request.shapes(version)) is not None:
            pruned = _with_owned(seen.convert(whole), seen.convert(pruned), seen.level, version, owners)
    # Only what the applier owned is taken away: what had no owner, and was below it, stays.
    left = _named_set(shape.convert(pruned), shape.level)
    gone = (_named_set(whole, shape.level) - left) & before
    return back.convert(remove(whole, gone, shape.level) or {})


def _with_owned(whole: Json, pruned: Json, level: Level, version: str, owners: Mapping[Manager, Owned]) -> Json:
    """Return `pruned` with those parts of `whole` that any manager owns in this version."""
    held = EMPTY
    for owned in owners.values():
        if owned.version == version:
            held = held | owned.fields
    kept = _named_set(pruned, level) | with_named_fields(held, level)
    return remove(whole, _named_set(whole, level) - kept, level) or {}


def _named_set(obj: Json, level: Level) -> FieldSet:
    return with_named_fields(field_set(obj, level), level)
