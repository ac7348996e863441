"""Objects beside pods and services: what is done so that an active job has its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, make_job

from training_controllers.decide.owned_changes import owned_changes, unavailable
from training_controllers.model.owned_objects import (
    AUTOSCALER,
    CONFIG_MAP,
    POD_GROUP,
    ROLE,
    ROLE_BINDING,
    OwnedKind,
    OwnedObject,
)
from training_controllers.model.plan import EventType, JobEvent, OwnedChange, OwnedVerb, Snapshot
from training_controllers.model.records import OwnedRecord

GROUP = OwnedObject(POD_GROUP, "sim", {"spec": {"minMember": 2}})
HOSTS = OwnedObject(CONFIG_MAP, "sim", {"data": {"hosts": "a"}})
GRANT = OwnedObject(ROLE, "sim", {"rules": ["exec"]}, existing_only=True)
BINDING = OwnedObject(ROLE_BINDING, "sim")
SCALER = OwnedObject(AUTOSCALER, "sim", {"spec": {"maxReplicas": 2}})


def present(kind: OwnedKind, content: Any = None, *, deleting: bool = False) -> OwnedRecord:
    return OwnedRecord(kind.name, "ns", "sim", "uid", "1", None, msgspec.json.encode(content), deleting)


def snapshot(
    records: Sequence[OwnedRecord], absent: frozenset[str] = frozenset(), *, suspend: bool = False
) -> Snapshot:
    job = make_job("MPIJob", {"Launcher": 1}, run_policy={"suspend": suspend})
    return Snapshot(job, (), (), START, owned_objects=records, absent_kinds=absent)


def change(verb: OwnedVerb, owned: OwnedObject, record: OwnedRecord | None = None, **patch: Any) -> OwnedChange:
    return OwnedChange(verb, owned.kind.name, owned.name, owned, record, patch)


OTHER_HOSTS, SAME_HOSTS = present(CONFIG_MAP, {"hosts": "b"}), present(CONFIG_MAP, {"hosts": "a", "defaulted": "x"})
OTHER_GRANT, GOING_GRANT = present(ROLE, ["get"]), present(ROLE, ["exec"], deleting=True)
OTHER_GROUP, EMPTY_GROUP = present(POD_GROUP, {"minMember": 3, "theirs": 1}), present(POD_GROUP)


@pytest.mark.parametrize(
    ("wanted", "records", "changes"),
    [
        ([HOSTS], [], [change(OwnedVerb.CREATE, HOSTS)]),
        ([HOSTS], [OTHER_HOSTS], [change(OwnedVerb.REPLACE, HOSTS, OTHER_HOSTS)]),
        ([HOSTS], [SAME_HOSTS], []),
        ([GRANT], [], []),
        ([GRANT], [OTHER_GRANT], [change(OwnedVerb.REPLACE, GRANT, OTHER_GRANT)]),
        ([BINDING], [], [change(OwnedVerb.CREATE, BINDING)]),
        ([BINDING], [OTHER_GRANT], [change(OwnedVerb.CREATE, BINDING)]),
        ([GRANT, BINDING], [GOING_GRANT], []),
        ([GRANT, HOSTS], [GOING_GRANT], [change(OwnedVerb.CREATE, HOSTS)]),
        ([GROUP], [OTHER_GROUP], [change(OwnedVerb.PATCH, GROUP, OTHER_GROUP, spec={"minMember": 2})]),
        ([GROUP], [EMPTY_GROUP], [change(OwnedVerb.PATCH, GROUP, EMPTY_GROUP, spec={"minMember": 2})]),
        ([GROUP], [present(POD_GROUP, {"minMember": 2, "theirs": 1})], []),
    ],
)
def test_what_is_wanted_is_there_and_as_it_should_be(
    wanted: Sequence[OwnedObject], records: Sequence[OwnedRecord], changes: Sequence[OwnedChange]
) -> None:
    assert owned_changes(snapshot(records), wanted) == tuple(changes)
    assert owned_changes(snapshot(records, frozenset(each.kind.name for each in wanted)), wanted) == ()


@pytest.mark.parametrize("suspend", [False, True])
def test_what_is_temporary_and_not_wanted_any_more_is_deleted(suspend: bool) -> None:
    scaler, group, going = present(AUTOSCALER), present(POD_GROUP), present(POD_GROUP, deleting=True)
    terminated = JobEvent(EventType.NORMAL, "JobTerminated", "Job has been terminated. Deleting PodGroup")
    deleted = JobEvent(EventType.NORMAL, "SuccessfulDeletePodGroup", "Deleted PodGroup: sim")
    assert owned_changes(snapshot([OTHER_HOSTS, scaler, group], suspend=suspend), ()) == (
        OwnedChange(OwnedVerb.DELETE, scaler.kind, "sim", record=scaler),
        OwnedChange(OwnedVerb.DELETE, "PodGroup", "sim", record=group, events=(*[terminated] * suspend, deleted)),
    )
    assert owned_changes(snapshot([going, scaler]), [SCALER])[0].verb is OwnedVerb.REPLACE
    assert owned_changes(snapshot([going]), ()) == ()


def test_only_what_pods_need_keeps_them_waiting() -> None:
    wanted = [SCALER, GROUP, GRANT, HOSTS]
    kinds = [each.kind for each in wanted]
    assert list(unavailable(snapshot([present(kind) for kind in kinds]), wanted)) == []
    text = "ConfigMap sim cannot be created: the API server does not have v1"
    assert list(unavailable(snapshot((), frozenset(kind.name for kind in kinds)), wanted)) == [("ApiMissing", text)]
    text = "ConfigMap sim was deleted but still exists: a finalizer may block its deletion"
    leaving = [present(kind, deleting=True) for kind in kinds]
    assert list(unavailable(snapshot(leaving), wanted)) == [("Terminating", text)]
