"""`training-operator migrate probe`: whether the pods of a job know and reach each other, without training anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from training_migration.compare import Outcome, compare
from training_migration.convert.launchers import Launcher, launcher_of
from training_migration.exits import Exit, Failure, worst
from training_migration.report.columns import Table
from training_migration.runs.probe import NAMES, OF_V2, ProbeResult, names_for
from training_migration.runs.record import EndState
from training_migration.runs.recording import Seen, found_by_probe, record_of
from training_migration.runs.sightings import Place
from training_migration.runs.templates import templates
from training_migration.runs.what import Plan, What
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.verbs import place as places
from training_migration.verbs.output import write

Json = dict[str, Any]

_ALIKE: Final = "The same ranks meet on both sides."


def probe(
    *,
    paths: tuple[str, ...],
    target: Target,
    side: str,
    seconds: float,
    limit: float,
    changed_scripts: bool,
    style: str,
    output: Path | None,
    **place: Any,
) -> Exit:
    """Test rendezvous and DNS of the pods of the job in PATH... on v1 and on v2, without training."""
    where = places.Place(**place)
    plan = places.plan_of(paths, target, side, where.namespace_v2)
    what = What(probed=_names(plan, changed_scripts=changed_scripts), seconds=seconds)
    seen = where.run(plan, what, limit=seconds + limit, settle=seconds + 10.0)
    write(_as_json(seen) if style == "json" else _as_text(seen, terminal=output is None), output)
    return worst(map(_exit_of, seen))


def _names(plan: Plan, *, changed_scripts: bool) -> tuple[str, ...]:
    """What ranks are read from; without a v1 job whatever there is."""
    if plan.v1 is None:
        return tuple(
            dict.fromkeys(name for names in (*NAMES.values(), *OF_V2.values()) for name in names if name != "MPI")
        )
    if (kind := plan.v1.job.info.kind) not in NAMES:
        raise Failure(f"probe does not know what the programs of a {kind} read their ranks from.", Exit.REJECTED)
    return names_for(kind, torchrun=_torchrun(plan.v1), changed_scripts=changed_scripts)


def _torchrun(job: V1Job) -> bool | None:
    """Whether torchrun starts the training; None if the YAML does not say."""
    found = set()
    for role, template in templates(job.object):
        wanted = next(job.job.main_container(each) for each in job.job.replicas if each.lower() == role)
        for container in template["spec"]["containers"]:
            if container["name"] == wanted:
                found.add(launcher_of(container.get("command"), container.get("args")))
    if found <= {Launcher.PYTHON}:
        return False
    return True if all(each.sets_ranks for each in found) else None


def _exit_of(seen: Seen) -> Exit:
    results = found_by_probe(seen).values()
    if results and all(each.ok for each in results) and seen.end is EndState.SUCCEEDED:
        return Exit.DONE
    return Exit.INCONCLUSIVE if not results and seen.end is EndState.TIMED_OUT else Exit.DIFFERENT


def _as_text(seen: Sequence[Seen], *, terminal: bool) -> str:
    rows = [
        (str(each.side), f"{role} {index}", *_cells(result))
        for each in seen
        for (role, index), result in found_by_probe(each).items()
    ]
    table = Table(("side", "pod", "rank", "read from", "coordinator", "heard from", "names", "verdict"), rows)
    colours = {"met": "green"}
    parts = [table.text(colours, terminal=terminal and sys.stdout.isatty())]
    parts += [f"{each.side}: {'; '.join(each.reasons)}" for each in seen if each.end is not EndState.SUCCEEDED]
    if len(seen) == 2:
        comparison = compare(record_of(seen[0], ()), record_of(seen[1], ()))
        parts.append(_ALIKE if comparison.outcome is Outcome.EQUAL else comparison.headline)
    return "\n\n".join(parts)


def _cells(result: ProbeResult) -> tuple[str, ...]:
    rank = "-" if result.rank is None else f"{result.rank} of {result.world_size}"
    missing = [name for name, seconds in result.name_seconds if seconds is None]
    slowest = max((seconds or 0.0 for _, seconds in result.name_seconds), default=0.0)
    names = f"unknown: {', '.join(missing)}" if missing else f"all within {slowest:.1f} s"
    if not result.name_seconds:
        names = "-"
    heard = ", ".join(map(str, result.heard)) or "-"
    return rank, result.read_from or "-", result.coordinator or "-", heard, names, "met" if result.ok else result.why


def _as_json(seen: Sequence[Seen]) -> str:
    return json.dumps({"schema": "migrate.probe/1", "sides": [_side(each) for each in seen]}, indent=2)


def _side(seen: Seen) -> Json:
    pods = [_pod(place, result) for place, result in found_by_probe(seen).items()]
    return {"side": seen.side, "end": seen.end, "reasons": seen.reasons, "pods": pods}


def _pod(place: Place, result: ProbeResult) -> Json:
    return {
        "role": place[0],
        "index": place[1],
        "ok": result.ok,
        "why": result.why,
        "rank": result.rank,
        "worldSize": result.world_size,
        "readFrom": result.read_from,
        "coordinator": result.coordinator,
        "heard": list(result.heard),
        "nameSeconds": dict(result.name_seconds),
        "variables": dict(result.variables),
    }
