"""Checks of a pod's volumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training_local.apiserver import names
from training_local.apiserver.builtin.container_validation import each, field_reference
from training_local.apiserver.builtin.syntax import no_back_steps
from training_local.apiserver.errors import Cause, Json, duplicate, forbidden_value, invalid, not_supported, required

MODE_RANGE = "must be a number between 0 and 0777 (octal), both inclusive"
HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""Fields of the pod that a file of a downward API volume may show."""


def volumes(listed: Sequence[Json], path: str) -> tuple[set[str], list[Cause]]:
    """Return the names of the sound volumes, and what is wrong with the others."""
    sound: set[str] = set()
    causes: list[Cause] = []
    for index, volume in enumerate(listed):
        here = f"{path}[{index}]"
        found = list(_source(volume, here))
        if not (name := volume["name"]):
            found.append(required(f"{here}.name"))
        else:
            found += each(f"{here}.name", name, names.label)
        if name in sound:
            found.append(duplicate(f"{here}.name", name))
        if found:
            causes += found
        else:
            sound.add(name)
    return sound, causes


def _source(volume: Json, path: str) -> Iterator[Cause]:
    kinds = [kind for kind in volume if kind != "name"]
    if not kinds:
        yield required(path, "must specify a volume type")
        return
    yield from (forbidden_value(f"{path}.{kind}", "may not specify more than 1 volume type") for kind in kinds[1:])
    kind, source = kinds[0], volume[kinds[0]]
    here = f"{path}.{kind}"
    if kind == "hostPath":
        yield from _host_path(source, here)
    elif kind in ("secret", "configMap"):
        field = "secretName" if kind == "secret" else "name"
        if not source.get(field):
            yield required(f"{here}.{field}")
        yield from _files(source, here)
    elif kind == "persistentVolumeClaim" and not source["claimName"]:
        yield required(f"{here}.claimName")
    elif kind == "downwardAPI":
        yield from _files(source, here)
    elif kind == "projected":
        yield from _projected(source, here)


def _host_path(source: Json, path: str) -> Iterator[Cause]:
    if not source["path"]:
        yield required(f"{path}.path")
        return
    yield from each(f"{path}.path", source["path"], no_back_steps)
    if source["type"] not in HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], HOST_PATH_TYPES)


def _projected(source: Json, path: str) -> Iterator[Cause]:
    yield from _mode(source, "defaultMode", path)
    for index, part in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in part:
                if not part[kind].get("name"):
                    yield required(f"{here}.{kind}.name")
                yield from _items(part[kind], f"{here}.{kind}")
        if "downwardAPI" in part:
            yield from _items(part["downwardAPI"], f"{here}.downwardAPI")


def _files(source: Json, path: str) -> Iterator[Cause]:
    yield from _mode(source, "defaultMode", path)
    yield from _items(source, path)


def _items(source: Json, path: str) -> Iterator[Cause]:
    for index, item in enumerate(source.get("items", ())):
        here = f"{path}.items[{index}]"
        if item.get("key") == "":
            yield required(f"{here}.key")
        if not (target := item["path"]):
            yield required(f"{here}.path")
        else:
            if target.startswith("/"):
                yield invalid(f"{here}.path", target, "must be a relative path")
            yield from each(f"{here}.path", target, no_back_steps)
        yield from _mode(item, "mode", here)
        if (reference := item.get("fieldRef")) is not None:
            yield from field_reference(reference, FILE_FIELDS, f"{here}.fieldRef")


def _mode(source: Json, field: str, path: str) -> Iterator[Cause]:
    if (mode := source.get(field)) is not None and not 0 <= mode <= 0o777:
        yield invalid(f"{path}.{field}", mode, MODE_RANGE)
