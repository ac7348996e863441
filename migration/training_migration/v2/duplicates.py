"""Items that are there twice in lists which Trainer's CRDs declare to have keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from training_migration.v2.denied import Denied

_OF_RUNTIME: Final = {
    "replicatedJobs": ("name",),
    "initContainers": ("name",),
    "containers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "imagePullSecrets": ("name",),
    "schedulingGates": ("name",),
}
_OF_TRAIN_JOB: Final = {**_OF_RUNTIME, "volumeMounts": ("name",), "runtimePatches": ("manager",)}
_DEFAULTS: Final = {"protocol": "TCP"}


def check_duplicates(train_job_spec: Any, runtime_spec: Any) -> None:
    """Raise Denied for the first."""
    for denied in _duplicates(runtime_spec, "spec", _OF_RUNTIME):
        raise denied
    for denied in _duplicates(train_job_spec, "spec", _OF_TRAIN_JOB):
        raise denied


def _duplicates(value: Any, path: str, keys: Mapping[str, tuple[str, ...]]) -> Iterator[Denied]:
    if isinstance(value, dict):
        for field, each in value.items():
            if field in keys and isinstance(each, list):
                yield from _twice(each, f"{path}.{field}", keys[field])
            yield from _duplicates(each, f"{path}.{field}", keys)
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _duplicates(each, f"{path}[{position}]", keys)


def _twice(items: list[Any], path: str, key: tuple[str, ...]) -> Iterator[Denied]:
    seen = set()
    for position, item in enumerate(items):
        found = tuple(str(item.get(name, _DEFAULTS.get(name, ""))) for name in key) if isinstance(item, dict) else ()
        if found and found in seen:
            what = " ".join(f"{name} {text}" for name, text in zip(key, found, strict=True))
            yield Denied(f"{path}[{position}]", f"{what} is there twice")
        seen.add(found)
