"""From what was seen of a run to its record: pods by place, processes by what the witness said, metrics by pattern."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from training_migration.runs.inside.sitecustomize import WIRING
from training_migration.runs.probe import ProbeResult, probe_marks, results
from training_migration.runs.record import EndState, Event, LeftOver, Pod, Process, Ref, RunRecord, Series, Side
from training_migration.runs.sightings import Place, exit_code_of, phase_of, place_of, restarts_of
from training_migration.runs.witness import Mark, marks

Json = dict[str, Any]
Logs = Mapping[str, Sequence[Sequence[str]]]
"""Uid of a pod -> the lines of each attempt of the container that trains, the first one first."""


class BadPattern(ValueError):
    """A pattern of `--metric` that cannot be used; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number in the logs."""

    name: str
    pattern: re.Pattern[str]
    """Its group `step`, if there is one, is the step; the group called like the metric, or the first, the value."""

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read `NAME=REGEX` whose expression has a group, for example `loss=([0-9.]+)`; raises BadPattern.

        The name is that of a named group, else the word with which the expression begins.
        """
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise BadPattern(f"--metric {text!r}: {error}") from None
        groups = [name for name in pattern.groupindex if name != "step"]
        word = re.match(r"\w+", text)
        if pattern.groups < 1 + ("step" in pattern.groupindex):
            raise BadPattern(f"--metric {text!r}: has no group for the value, as in 'loss=([0-9.]+)'")
        return cls(groups[0] if groups else word[0] if word else "metric", pattern)

    def points(self, lines: Iterable[str]) -> list[tuple[int, float | None]]:
        """Step and value of each line that matches; without a group `step` they are counted from 1."""
        found: list[tuple[int, float | None]] = []
        for line in lines:
            if match := self.pattern.search(line):
                named = match.groupdict()
                step = int(float(named["step"])) if named.get("step") else len(found) + 1
                at = self.pattern.groupindex.get("step")
                value = named.get(self.name) or next(match[n] for n in range(1, match.re.groups + 1) if n != at)
                found.append((step, _number(value)))
        return found


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(slots=True)
class Seen:
    """Everything that was seen of one side."""

    side: Side
    ref: Ref
    where: str
    began: float
    """Seconds since 1970, at the submission."""
    container: Mapping[str, str]
    """Role -> name of the container that trains."""
    witnessed: bool
    end: EndState = EndState.UNKNOWN
    reasons: list[str] = field(default_factory=list)
    ended: float | None = None
    pods: Mapping[str, Json] = field(default_factory=dict)
    """By uid, in the order in which they came."""
    gone: frozenset[str] = frozenset()
    logs: Logs = field(default_factory=dict)
    events: Sequence[Json] = ()
    clean_pod_policy: str = ""

    def container_of(self, pod: Json) -> str:
        """Name of the container of a pod that trains, the first one where that is not known."""
        place = place_of(pod)
        return self.container.get(place[0] if place else "") or str(pod["spec"]["containers"][0]["name"])


def record_of(run: Seen, metrics: Sequence[Metric]) -> RunRecord:
    """Put together what was seen."""
    lives = _lives(run)
    last_logs = {place: _last_attempt(run, [pod["metadata"]["uid"] for pod in pods]) for place, pods in lives.items()}
    reported = {place: [*marks(lines), *probe_marks(lines)] for place, lines in last_logs.items()}
    processes = _processes(lives, reported) if run.witnessed else None
    met = [mark.time for each in reported.values() for mark in each if mark.met]
    return RunRecord(
        side=run.side,
        ref=run.ref,
        end=run.end,
        reasons=tuple(run.reasons),
        where=run.where,
        pods=tuple(_pod(run, place, pods, reported[place]) for place, pods in lives.items()),
        processes=processes,
        metrics=_series(last_logs, processes or (), metrics) if metrics else None,
        time_to_first_rank=round(max(min(met) - run.began, 0.0), 3) if met else None,
        duration=round(run.ended - run.began, 3) if run.ended else None,
        clean_pod_policy=run.clean_pod_policy,
        left_over=tuple(
            LeftOver(role=place[0], index=place[1], phase=phase_of(pods[-1]))
            for place, pods in lives.items()
            if pods[-1]["metadata"]["uid"] not in run.gone
        ),
        events=tuple(_event(each) for each in run.events),
    )


def found_by_probe(run: Seen) -> dict[Place, ProbeResult]:
    """What each pod has found out in a test of the wiring, where it has reported."""
    found = {}
    for place, pods in _lives(run).items():
        if reported := results(_last_attempt(run, [pod["metadata"]["uid"] for pod in pods])):
            found[place] = reported[-1]
    return found


def _lives(run: Seen) -> dict[Place, list[Json]]:
    """The pods of each place, in the order in which they came; places in the order of roles seen, then by index."""
    found: dict[Place, list[Json]] = {}
    for pod in run.pods.values():
        if place := place_of(pod):
            found.setdefault(place, []).append(pod)
    roles = list(dict.fromkeys(role for role, _ in found))
    return {place: found[place] for place in sorted(found, key=lambda each: (roles.index(each[0]), each[1]))}


def _last_attempt(run: Seen, uids: Sequence[str]) -> Sequence[str]:
    attempts = [lines for uid in uids for lines in run.logs.get(uid, ()) if lines]
    return attempts[-1] if attempts else ()


def _pod(run: Seen, place: Place, lives: Sequence[Json], reported: Sequence[Mark]) -> Pod:
    role, index = place
    last, container = lives[-1], run.container.get(role, "")
    known = [dict(mark.variables) for mark in reported if mark.met] or [dict(mark.variables) for mark in reported]
    return Pod(
        role=role,
        index=index,
        exit_code=exit_code_of(last, container),
        restarts=sum(map(restarts_of, lives)) + len(lives) - 1,
        environment=known[-1] if known else _stated(last, container),
    )


def _stated(pod: Json, container: str) -> dict[str, str]:
    """The variables that a pod states literally and by which ranks find each other; no others, for secrets' sake."""
    variables = [v for c in pod["spec"]["containers"] if c["name"] == container for v in c.get("env") or ()]
    return {v["name"]: v["value"] for v in variables if WIRING.match(v["name"]) and "value" in v}


def _processes(lives: Mapping[Place, Sequence[Json]], reported: Mapping[Place, Sequence[Mark]]) -> tuple[Process, ...]:
    """Every process that met others, in the pod with its host name; one without a rank for each pod where none has."""
    homes = {_hostname(pods[-1]): place for place, pods in lives.items()}
    found: dict[tuple[Place, int | None, str], Process] = {}
    for place, each in reported.items():
        for mark in each:
            home = homes.get(mark.host.partition(".")[0], place)
            if mark.met:
                found[home, mark.rank, mark.group] = Process(
                    role=home[0],
                    index=home[1],
                    rank=mark.rank,
                    world_size=mark.world_size,
                    local_rank=mark.local_rank,
                    group=mark.group,
                    backend=mark.backend,
                    peers=mark.peers,
                )
    trained = {home for home, _, _ in found}
    for place, each in reported.items():
        if each and place not in trained and not any(mark.met for mark in each):
            found[place, None, ""] = Process(role=place[0], index=place[1])
    return tuple(found.values())


def _hostname(pod: Json) -> str:
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])


def _series(
    logs: Mapping[Place, Sequence[str]], processes: Sequence[Process], metrics: Sequence[Metric]
) -> tuple[Series, ...]:
    """Each metric of each pod's log, under the lowest rank that trained in the pod, else under the pod's number."""
    found = []
    for number, (place, lines) in enumerate(logs.items()):
        ranks = [p.rank for p in processes if (p.role, p.index) == place and p.rank is not None]
        for metric in metrics:
            if points := metric.points(lines):
                rank = min(ranks, default=number)
                found.append(Series(name=metric.name, rank=rank, points=tuple(points)))
    return tuple(found)


def _event(event: Json) -> Event:
    about = event.get("involvedObject") or {}
    return Event(
        reason=event.get("reason") or "",
        message=event.get("message") or "",
        about=f"{about.get('kind', '')} {about.get('name', '')}".strip(),
        warning=event.get("type") == "Warning",
    )
