"""The runtime that a TrainJob refers to: one lookup for every verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from training_api.documents import Document
from training_migration.v2.names import CLUSTER_RUNTIME, RUNTIME, TRAINER_GROUP

Json = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name."""
DEFAULT_NAMESPACE: Final = "default"


def namespace_of(obj: Mapping[str, Any]) -> str:
    """The namespace of a namespaced object."""
    return str((obj.get("metadata") or {}).get("namespace") or DEFAULT_NAMESPACE)


class Runtimes:
    """Runtimes of some documents, and those that v2 ships."""

    def __init__(self, documents: Iterable[Document], stock: Mapping[str, Json]) -> None:
        self._stock = stock
        self._given: dict[Key, Json] = {}
        self._of_file: dict[tuple[str, Key], Json] = {}
        for document in documents:
            obj = document.object or {}
            if obj.get("kind") in (RUNTIME, CLUSTER_RUNTIME) and str(obj.get("apiVersion")).startswith(TRAINER_GROUP):
                key = _key(obj, str(obj["kind"]), str((obj.get("metadata") or {}).get("name", "")))
                self._given.setdefault(key, obj)
                self._of_file.setdefault((document.source, key), obj)

    def of(self, train_job: Mapping[str, Any], source: str = "") -> Json | None:
        """The runtime in the TrainJob's own file, else any given one, else one that v2 ships; None if it is nowhere.

        A TrainingRuntime is one of the TrainJob's namespace.
        """
        kind, name = reference_of(train_job)
        key = _key(train_job, kind, name)
        found = self._of_file.get((source, key)) or self._given.get(key)
        return self._stock.get(name) if found is None and kind == CLUSTER_RUNTIME else found


def reference_of(train_job: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of the runtime that a TrainJob refers to."""
    reference = (train_job.get("spec") or {}).get("runtimeRef") or {}
    return str(reference.get("kind") or CLUSTER_RUNTIME), str(reference.get("name") or "")


def _key(obj: Mapping[str, Any], kind: str, name: str) -> Key:
    """Of the runtime of this name that an object in the same place has or is."""
    return kind, "" if kind == CLUSTER_RUNTIME else namespace_of(obj), name
