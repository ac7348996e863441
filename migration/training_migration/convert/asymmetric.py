"""A master whose template is not that of the workers: what differs, and the larger of both where that is enough."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from training_api.quantity import amount
from training_migration.choices import Asymmetric
from training_migration.convert.context import Context, Json
from training_migration.findings import Severity

MERGEABLE: Final = re.compile(r"spec\.(volumes|containers\[[^]]*\]\.(resources|env|volumeMounts))\b.*")
"""Where the larger of both serves master and workers alike."""
BY_INDEX: Final = "by-index"
"""The name of the shell that chooses between two commands."""
SHOWN: Final = 6


class Conflict(Exception):
    """Two templates that no third can stand for."""


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The fields in which two templates differ; entries of lists are known by their names."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
    elif _is_named(one) and _is_named(other):
        ours, theirs = _by_name(one), _by_name(other)
        for name in [*ours, *(each for each in theirs if each not in ours)]:
            yield from differences(ours.get(name), theirs.get(name), f"{path}[{name}]")
        if not ours.keys() ^ theirs.keys() and list(ours) != list(theirs):
            yield path
    elif one != other:
        yield path


def one_template(context: Context, master: str, worker: str, templates: Mapping[str, Json]) -> Json | None:
    """The template for master and workers together, or None where they have to stay two; notes what differs."""
    ours, theirs = templates[master], templates[worker]
    paths = list(differences(ours, theirs))
    if context.replica(master).restart_policy != context.replica(worker).restart_policy:
        paths.append("restartPolicy")
    if not paths:
        return ours
    shown = ", ".join(paths[:SHOWN]) + (f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else "")
    path = context.path(worker, "template")
    if context.options.asymmetric is Asymmetric.REJECT:
        context.notes.reject("MIG201", f"{master} and {worker} differ in {shown}; --asymmetric says what to do.", path)
        return ours
    main = context.main_container(master)
    words = [f"spec.containers[{main}].{field}" for field in ("command", "args")]
    others = [each for each in paths if each not in words]
    if context.options.asymmetric is Asymmetric.MERGE_MAX and all(map(MERGEABLE.fullmatch, others)):
        try:
            merged = _merged(ours, theirs)
            if others != paths:
                merged = _by_index(merged, theirs, main)
        except Conflict:
            pass
        else:
            if others != paths:
                text = f"{master} and {worker} start other commands: a shell chooses by the index of the pod."
                context.notes.add("MIG201", text, context.path(worker, f"template.{words[0]}"), fixed=True)
                if not others:
                    return merged
                shown = ", ".join(others)
            text = f"{master} and {worker} differ in {shown}: all nodes get the larger of both, or what either has."
            amounts_only = all(".resources." in each for each in others)
            context.notes.add("MIG201", text, path, severity=Severity.WARNING, fixed=amounts_only)
            return merged
    text = f"{master} and {worker} differ in {shown}: they stay two groups of pods with variables of their own."
    context.notes.add("MIG201", text, path, fixed=True)
    return None


def _merged(ours: Json, theirs: Json) -> Json:
    """A template for both; raises Conflict."""
    pod, other = ours["spec"], theirs["spec"]
    containers = {each["name"]: each for each in other["containers"]}
    merged = {**pod, "containers": [_merged_container(each, containers[each["name"]]) for each in pod["containers"]]}
    if volumes := _union(pod.get("volumes"), other.get("volumes"), "name"):
        merged["volumes"] = volumes
    return {**ours, "spec": merged}


def _merged_container(ours: Json, theirs: Json) -> Json:
    merged = dict(ours)
    for field, key in (("env", "name"), ("volumeMounts", "mountPath")):
        if together := _union(ours.get(field), theirs.get(field), key):
            merged[field] = together
    if resources := _larger(ours.get("resources") or {}, theirs.get("resources") or {}):
        merged["resources"] = resources
    return merged


def _by_index(template: Json, theirs: Json, name: str) -> Json:
    """The template with a shell that starts the first pod's command or that of the others; raises Conflict."""
    commands = []
    for each in (template, theirs):
        main = next(one for one in each["spec"]["containers"] if one["name"] == name)
        if not main.get("command"):
            raise Conflict
        commands.append(shlex.join([*main["command"], *(main.get("args") or ())]))
    script = f'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then\n  exec {commands[0]}\nelse\n  exec {commands[1]}\nfi\n'
    containers = [
        {
            **{field: value for field, value in each.items() if field != "args"},
            "command": ["sh", "-c", script, BY_INDEX],
        }
        if each["name"] == name
        else each
        for each in template["spec"]["containers"]
    ]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def _union(ours: Sequence[Json] | None, theirs: Sequence[Json] | None, key: str) -> list[Json]:
    """The entries of both lists; raises Conflict where two of one key differ."""
    union = {each.get(key): each for each in ours or ()}
    for each in theirs or ():
        if union.setdefault(each.get(key), each) != each:
            raise Conflict
    return list(union.values())


def _larger(ours: Json, theirs: Json) -> Json:
    """Of each resource the larger amount; a request that one side leaves out is as much as its limit."""
    if ours.get("claims") != theirs.get("claims"):
        raise Conflict
    both = (ours, theirs)
    limits = _largest([each.get("limits") or {} for each in both])
    if any((each.get("limits") or {}).keys() != limits.keys() for each in both):
        # One of the two is not limited in something, so neither may be.
        common = set((ours.get("limits") or {}).keys()) & set((theirs.get("limits") or {}).keys())
        limits = {name: limit for name, limit in limits.items() if name in common or "/" in name}
    named = {name for each in both for name in each.get("requests") or {}}
    effective = [{**(each.get("limits") or {}), **(each.get("requests") or {})} for each in both]
    requests = {name: value for name, value in _largest(effective).items() if name in named or name not in limits}
    return {
        **({"claims": ours["claims"]} if ours.get("claims") else {}),
        **({"requests": requests} if requests else {}),
        **({"limits": limits} if limits else {}),
    }


def _largest(sides: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = {name: None for side in sides for name in side}
    return {name: max((side[name] for side in sides if name in side), key=_value) for name in names}


def _value(quantity: Any) -> Any:
    return amount(str(quantity)).value


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) and "name" in each for each in value)


def _by_name(entries: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(each["name"]): each for each in entries}
