"""Predicted objects against built ones, value by value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from training_migration.masking import masked
from training_migration.rendering import Rendering
from training_migration.v2.classes import comparable

Json = dict[str, Any]
_Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not as predicted, as it may be shown; None stands for one that is not there."""

    object: str
    """Kind and name, for example `Job/resnet-node-0`."""
    path: str
    """Field, for example `spec.template.spec.containers[0].image`; empty if the whole object is meant."""
    predicted: Any
    built: Any

    def __str__(self) -> str:
        """One sentence."""
        where = f"{self.object} {self.path}".strip()
        if not self.path:
            return f"{where}: {'not built' if self.built is None else 'not predicted'}"
        return f"{where}: predicted {_shown(self.predicted)}, built {_shown(self.built)}"


def expected(rendering: Rendering) -> list[Json]:
    """Of a prediction what there is before anything has run: nothing that waits for something else."""
    jobset = next(each for each in rendering.objects if each["kind"] == "JobSet")
    if not jobset["spec"].get("suspend"):
        return [*rendering.objects, *(each.pod for each in rendering.pods)]
    name = jobset["metadata"]["name"]
    waiting = {
        f"{name}-{each['name']}-{number}"
        for each in jobset["spec"]["replicatedJobs"]
        if each.get("dependsOn")
        for number in range(each.get("replicas", 1))
    }
    return [each for each in rendering.objects if each["kind"] != "Job" or each["metadata"]["name"] not in waiting]


def differences(predicted: Iterable[Json], built: Iterable[Json]) -> list[Difference]:
    """Every value that differs, but for those that chance or the API server's defaults decide."""
    wanted, found = _keyed(predicted), _keyed(built)
    result: list[Difference] = []
    for key in [*wanted, *(key for key in found if key not in wanted)]:
        name = f"{key[1]}/{key[2]}"
        if key not in found:
            result.append(Difference(name, "", "an object", None))
        elif key not in wanted:
            result.append(Difference(name, "", None, "an object"))
        else:
            result += _of_one(name, comparable(wanted[key]), comparable(found[key]))
    return result


def discreet(message: str, objects: Iterable[Json]) -> str:
    """What a server says of objects, which it may quote, without values of theirs that must not be shown."""
    for each in objects:
        for (_, value), (_, shown) in zip(_leaves(each, ""), _leaves(masked(each), ""), strict=True):
            if isinstance(value, str) and value != shown:
                message = message.replace(json.dumps(value)[1:-1], shown).replace(value, shown)
    return message


def _of_one(name: str, predicted: Json, built: Json) -> Iterator[Difference]:
    wanted, found = dict(_leaves(predicted, "")), dict(_leaves(built, ""))
    # Masking keeps lists as long as they are, so the paths are the same.
    shown_wanted, shown_found = dict(_leaves(masked(predicted), "")), dict(_leaves(masked(built), ""))
    for path in [*wanted, *(path for path in found if path not in wanted)]:
        if wanted.get(path) != found.get(path):
            yield Difference(name, path, shown_wanted.get(path), shown_found.get(path))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value


def _keyed(objects: Iterable[Json]) -> dict[_Key, Json]:
    """By group, kind and name; names given by chance by what they begin with, and a number."""
    keyed: dict[_Key, Json] = {}
    for each in objects:
        metadata = each["metadata"]
        group = each["apiVersion"].rpartition("/")[0]
        number = 0
        while (key := (group, each["kind"], metadata.get("generateName") or metadata["name"], number)) in keyed:
            number += 1
        keyed[key] = each
    return keyed


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)
