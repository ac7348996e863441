"""The copy of the runtime that a TrainJob keeps."""

from __future__ import annotations

from typing import Any

import yaml

from training_migration.v2.draft import Draft

Json = dict[str, Any]


def snapshot(draft: Draft) -> Json | None:
    """The ConfigMap, in releases that make one."""
    if not draft.features.snapshot:
        return None
    text = yaml.dump(draft.runtime, Dumper=yaml.CSafeDumper, sort_keys=True)
    return draft.owned("v1", "ConfigMap", f"{draft.name}-runtime-snapshot", data={"runtime": text})
