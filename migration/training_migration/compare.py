"""Two runs of one job compared: the same training, another one, or not enough evidence to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from training_migration.choices import SLOWER
from training_migration.comparison.curves import metric_rows
from training_migration.comparison.formation import Formation, formation
from training_migration.comparison.rows import Answer, Row
from training_migration.diff.pairing import Place, pair_places
from training_migration.index_lists import ranges
from training_migration.runs.record import EndState, Pod, RunRecord

_Seen = TypeVar("_Seen")


class Outcome(StrEnum):
    """What two runs show together."""

    EQUAL = "equal"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"
    """Evidence is missing, and what there is shows no difference."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What still counts as the same."""

    metrics: float | None = None
    """Relative difference of a metric's values at one step, for example 0.01; None: metrics are not compared, since
    training without fixed seeds is random."""
    slower: float = SLOWER
    """Factor between the durations from which on it is worth a remark."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs of one job have in common."""

    v1: RunRecord
    v2: RunRecord
    rows: tuple[Row, ...]

    @property
    def outcome(self) -> Outcome:
        """One difference is enough; without any, one missing piece of evidence is enough not to say equal."""
        answers = {row.answer for row in self.rows}
        if Answer.DIFFERENT in answers:
            return Outcome.DIFFERENT
        return Outcome.INCONCLUSIVE if Answer.INCONCLUSIVE in answers else Outcome.EQUAL

    @property
    def headline(self) -> str:
        """One sentence for users."""
        alone = [name for name, record in (("v1", self.v1), ("v2", self.v2)) if trains_alone(record)]
        if alone == ["v2"]:
            return f"Not the same training: on v2 every node trains alone, while v1 had {formation(self.v1)}."
        if alone == ["v1"]:
            return f"Not the same training: on v1 every node trains alone, while v2 had {formation(self.v2)}."
        reasons = [row.reason for row in self.rows if row.answer is _DECIDES.get(self.outcome)]
        match self.outcome:
            case Outcome.EQUAL:
                return "The same training happened on both sides."
            case Outcome.DIFFERENT:
                return f"Not the same: {'; '.join(reasons)}."
        return f"Not enough evidence: {'; '.join(reasons)}."


_DECIDES: Final = {Outcome.DIFFERENT: Answer.DIFFERENT, Outcome.INCONCLUSIVE: Answer.INCONCLUSIVE}


def trains_alone(record: RunRecord) -> bool:
    """Whether a witness saw that each of several pods trained alone."""
    seen = formation(record)
    return seen is not None and seen.alone


def compare(v1: RunRecord, v2: RunRecord, *, tolerance: Tolerance | None = None) -> Comparison:
    """Compare a run of a v1 job with one of what it was converted to; raises KeyError for a kind that v1 has not."""
    tolerance = tolerance or Tolerance()
    pods = _paired(v1, v2)
    rows = [
        _end(v1, v2),
        _ranks(v1, v2),
        _per_pod("exit codes", _with_an_end(v1.ref.kind, pods), lambda pod: pod.exit_code),
        _per_pod("restarts", pods, lambda pod: pod.restarts),
        *_peers(v1, v2),
        *metric_rows(v1, v2, tolerance.metrics),
        *_environment(pods),
        *_durations(v1, v2, tolerance.slower),
        _left_over(v1, v2),
    ]
    return Comparison(v1, v2, tuple(rows))


def _both(text: Callable[[_Seen], str], v1: _Seen, v2: _Seen) -> tuple[str, str]:
    return text(v1), text(v2)


def _end(v1: RunRecord, v2: RunRecord) -> Row:
    texts = _both(lambda record: ", ".join((record.end.value, *record.reasons)), v1, v2)
    for record in (v1, v2):
        if record.end in (EndState.TIMED_OUT, EndState.UNKNOWN):
            how = "did not end in time" if record.end is EndState.TIMED_OUT else "has an unknown end"
            return Row("end state", *texts, Answer.INCONCLUSIVE, f"{record.side} {how}")
    if v1.end == v2.end:
        return Row("end state", *texts, Answer.EQUAL)
    return Row("end state", *texts, Answer.DIFFERENT, f"v1 {_ended(v1.end)}, v2 {_ended(v2.end)}")


def _ended(state: EndState) -> str:
    return "was rejected" if state is EndState.REJECTED else state.value


def _ranks(v1: RunRecord, v2: RunRecord) -> Row:
    first, second = formation(v1), formation(v2)
    texts = _both(lambda seen: "no witness" if seen is None else str(seen), first, second)
    if first is None or second is None:
        return Row("ranks", *texts, Answer.INCONCLUSIVE, f"there was no witness on {_which(first is None, second)}")
    answer, reason = _same_formation(first, second)
    return Row("ranks", *texts, answer, reason)


def _which(first_missing: bool, second: object) -> str:
    if first_missing and second is None:
        return "either side"
    return "v1" if first_missing else "v2"


def _same_formation(v1: Formation, v2: Formation) -> tuple[Answer, str]:
    if v1.uninitialised and v2.uninitialised:
        return Answer.INCONCLUSIVE, "no process initialised distributed training on either side"
    if difference := _difference(v1, v2):
        return Answer.DIFFERENT, difference
    for name, seen in (("v1", v1), ("v2", v2)):
        if seen.missing:
            return Answer.INCONCLUSIVE, f"on {name} {seen.missing} of the ranks were not seen"
    return (Answer.EQUAL, "") if v1 == v2 else (Answer.DIFFERENT, f"v1 had {v1}, v2 had {v2}")


def _difference(v1: Formation, v2: Formation) -> str:
    """What no missing evidence can explain."""
    if v1.alone != v2.alone:
        return f"on {'v1' if v1.alone else 'v2'} every node trains alone"
    if v1.uninitialised or v2.uninitialised:
        return f"on {'v1' if v1.uninitialised else 'v2'} no process initialised distributed training"
    if [group for group, _ in v1.ranks] != [group for group, _ in v2.ranks]:
        return f"v1 had {v1}, v2 had {v2}"
    if v1.doubled != v2.doubled:
        return f"on {'v1' if v1.doubled else 'v2'} several processes had one rank"
    return ""


PodPair = tuple[Pod | None, Pod | None]
_SERVES: Final = {"MPIJob": ("worker",), "TFJob": ("ps",)}
"""Kind of v1 -> roles whose programs do not end by themselves."""


def _paired(v1: RunRecord, v2: RunRecord) -> list[PodPair]:
    first = {Place(pod.role, pod.index): pod for pod in v1.pods}
    second = {Place(pod.role, pod.index): pod for pod in v2.pods}
    return [
        (first[one] if one else None, second[other] if other else None)
        for one, other in pair_places(v1.ref.kind, first, second)
    ]


def _with_an_end(kind: str, pods: Iterable[PodPair]) -> list[PodPair]:
    """The pairs without those whose programs serve others until they are ended, where they have no exit code."""
    return [
        (one, other)
        for one, other in pods
        if not (one and other and one.role in _SERVES.get(kind, ()) and None in (one.exit_code, other.exit_code))
    ]


def _per_pod(aspect: str, pods: Iterable[PodPair], value: Callable[[Pod], int | None]) -> Row:
    """A number of each pod; equal where it is in every pair."""
    unpaired, unknown, unequal, seen = [], [], [], []
    for one, other in pods:
        values = (value(one) if one else None, value(other) if other else None)
        seen.append(values)
        if one is None or other is None:
            pod = one or other
            assert pod is not None
            unpaired.append(f"{pod.role} {pod.index} of {'v1' if one else 'v2'} has no partner")
        elif None in values:
            unknown.append(f"{one.role} {one.index}")
        elif values[0] != values[1]:
            unequal.append(f"{one.role} {one.index}: {values[0]} on v1, {values[1]} on v2")
    texts = (_counted(first for first, _ in seen), _counted(second for _, second in seen))
    if unequal or unpaired:
        return Row(aspect, *texts, Answer.DIFFERENT, f"{aspect} differ ({', '.join(_few(unequal + unpaired))})")
    if unknown or not seen:
        which = f" of {', '.join(_few(unknown))}" if unknown else ""
        return Row(aspect, *texts, Answer.INCONCLUSIVE, f"{aspect}{which} were not seen on both sides")
    return Row(aspect, *texts, Answer.EQUAL)


def _counted(values: Iterable[int | None]) -> str:
    """`0` where all pods have it, else `0 (3 pods), 1 (1 pod)`."""
    counts: dict[int | None, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    texts = {("?" if value is None else str(value)): count for value, count in counts.items()}
    if len(texts) == 1:
        return next(iter(texts))
    return ", ".join(f"{text} ({count} pod{'s' * (count > 1)})" for text, count in texts.items())


def _few(texts: list[str], most: int = 3) -> list[str]:
    return texts if len(texts) <= most else [*texts[:most], f"and {len(texts) - most} more"]


def _peers(v1: RunRecord, v2: RunRecord) -> Iterator[Row]:
    """Whom each rank heard from; no row where neither side was asked."""
    first, second = _heard(v1), _heard(v2)
    if not first and not second:
        return
    texts = _both(_hearing, first, second)
    if not first or not second:
        yield Row("peers", *texts, Answer.INCONCLUSIVE, f"peers were not asked on {_which(not first, second or None)}")
    elif first == second:
        yield Row("peers", *texts, Answer.EQUAL)
    else:
        ranks = [rank for rank in first.keys() | second.keys() if first.get(rank) != second.get(rank)]
        yield Row("peers", *texts, Answer.DIFFERENT, f"rank {ranges(ranks)} heard from others than on v1")


def _heard(record: RunRecord) -> dict[int, frozenset[int]]:
    return {
        each.rank: frozenset(each.peers)
        for each in record.processes or ()
        if each.rank is not None and each.peers is not None
    }


def _hearing(heard: dict[int, frozenset[int]]) -> str:
    return "; ".join(f"{rank}: {ranges(peers) or 'none'}" for rank, peers in sorted(heard.items())) or "not asked"


def _environment(pods: Iterable[PodPair]) -> Iterator[Row]:
    """Which variables only one side had; what they mean is the business of `diff`."""
    first: set[str] = set()
    second: set[str] = set()
    for one, other in pods:
        first |= set(one.environment if one else ())
        second |= set(other.environment if other else ())
    if not first and not second:
        return
    only = [
        f"only on {side}: {', '.join(sorted(names))}"
        for side, names in (("v1", first - second), ("v2", second - first))
        if names
    ]
    texts = (f"{len(first)} variables", f"{len(second)} variables")
    yield Row("environment", *texts, Answer.NOTE, "; ".join(only))


def _durations(v1: RunRecord, v2: RunRecord, factor: float) -> Iterator[Row]:
    """Worth a remark, never a difference: both runs shared their machines with others."""
    for aspect, first, second in (
        ("time to first rank", v1.time_to_first_rank, v2.time_to_first_rank),
        ("duration", v1.duration, v2.duration),
    ):
        texts = _both(lambda value: "?" if value is None else f"{value:.1f} s", first, second)
        if first is None or second is None or first * factor >= second:
            yield Row(aspect, *texts, Answer.EQUAL if None not in (first, second) else Answer.NOTE)
        else:
            yield Row(aspect, *texts, Answer.NOTE, f"v2 took more than {factor:g} times as long")


def _left_over(v1: RunRecord, v2: RunRecord) -> Row:
    texts = _both(_pods_left, v1, v2)
    surprises = [f"{record.side} left pods that {why}" for record in (v1, v2) if (why := _unexpected(record))]
    return Row("left-over pods", *texts, Answer.NOTE, "; ".join(surprises))


def _pods_left(record: RunRecord) -> str:
    if record.left_over is None:
        return "?"
    return ", ".join(f"{pod.role} {pod.index} {pod.phase}" for pod in record.left_over) or "none"


def _unexpected(record: RunRecord) -> str:
    """Why these pods should not be there: v1 goes by the job's policy, JobSet keeps nothing but finished pods."""
    left = record.left_over or ()
    policy = (record.clean_pod_policy or "None") if record.side == "v1" else "Running"
    if policy == "All" and left:
        return "its policy All deletes"
    if policy == "Running" and any(pod.phase not in ("Succeeded", "Failed") for pod in left):
        return "have not finished"
    return ""
