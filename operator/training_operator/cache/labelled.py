"""How many services each job's label selects, whoever owns them."""

from __future__ import annotations

from collections import Counter

from training_controllers.model.records import ServiceRecord
from training_operator.cache.store import Change, Store


class Labelled:
    """Counts the services of a store by namespace and label."""

    def __init__(self, services: Store[ServiceRecord]) -> None:
        """Count what `services` will hold; it is empty still."""
        self._counts: Counter[tuple[str, str]] = Counter()
        services.subscribe(self._changed)

    def count(self, namespace: str, label: str) -> int:
        """Return how many services of a namespace have this label."""
        return self._counts[namespace, label]

    def _changed(self, change: Change[ServiceRecord]) -> None:
        if change.old is not None:
            key = (change.old.namespace, change.old.job_label)
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]
        if change.new is not None:
            self._counts[change.new.namespace, change.new.job_label] += 1
