"""Events, which are served in two groups and stored in the core group's form."""

from __future__ import annotations

from collections.abc import Iterator

from training_local.apiserver import names
from training_local.apiserver.builtin.container_validation import each
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.errors import Cause, Json, invalid, required

CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Field in events.k8s.io -> the same field in the core group."""
_NEW_NAMES = {core: new for new, core in CORE_NAMES.items()}
REASON_LIMIT = ACTION_LIMIT = INSTANCE_LIMIT = 128
NOTE_LIMIT = 1024


class EventConversion:
    """Renames the fields of events.k8s.io into those of the core group and back."""

    def to_storage(self, obj: Json) -> Json:
        """See `Conversion.to_storage`."""
        return {**{CORE_NAMES.get(key, key): value for key, value in obj.items()}, "apiVersion": "v1"}

    def from_storage(self, obj: Json) -> Json:
        """See `Conversion.from_storage`."""
        renamed = {_NEW_NAMES.get(key, key): value for key, value in obj.items() if value != ""}
        return {**renamed, "apiVersion": "events.k8s.io/v1"}


def core_event_causes(event: Json) -> Iterator[Cause]:
    """Check an event of the core group."""
    yield from _namespace_causes(event, event.get("involvedObject", {}))
    if event.get("eventTime"):
        yield from _recorder_causes(event, "reportingComponent", event.get("message", ""))


def new_event_causes(event: Json) -> Iterator[Cause]:
    """Check an event of events.k8s.io."""
    yield from _namespace_causes(event, event.get("regarding", {}))
    if not event.get("eventTime"):
        yield required("eventTime")
        return
    yield from _recorder_causes(event, "reportingController", event.get("note", ""))
    if (kind := event.get("type", "")) not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {kind}")


def _namespace_causes(event: Json, about: Json) -> Iterator[Cause]:
    namespace, named = event["metadata"].get("namespace", ""), about.get("namespace", "")
    fitting = (named,) if named else ("", "default", "kube-system" if event.get("eventTime") else "default")
    if namespace not in fitting:
        yield invalid("involvedObject.namespace", named, "does not match event.namespace")


def _recorder_causes(event: Json, controller: str, note: str) -> Iterator[Cause]:
    if not (name := event.get(controller)):
        yield required(controller)
    yield from each(controller, name or "", names.qualified_name)
    for field, limit in (("reportingInstance", INSTANCE_LIMIT), ("action", ACTION_LIMIT), ("reason", REASON_LIMIT)):
        if not (text := event.get(field)):
            yield required(field)
        elif len(text) > limit:
            yield invalid(field, "", f"can have at most {limit} characters")
    if len(note) > NOTE_LIMIT:
        yield invalid("message", "", f"can have at most {NOTE_LIMIT} characters")


CORE_EVENT_RULES = BuiltinRules("io.k8s.api.core.v1.Event", "v1", validate=core_event_causes, has_status=False)
NEW_EVENT_RULES = BuiltinRules("io.k8s.api.events.v1.Event", "v1", validate=new_event_causes, has_status=False)
