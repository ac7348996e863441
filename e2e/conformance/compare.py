"""Compare two records of a case leaf by leaf, and know which differences are meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from e2e.support.leaves import leaves_of

ABSENT = "(absent)"
"""Stands for the value of a leaf that one side does not have."""

Record = dict[str, Any]
Snapshot = dict[str, Any]
"""Name of the step and the state after it; the snapshots of a case make its record."""
WRITTEN_BY_THE_CLUSTER = "horizontalpodautoscalers/*/status/*"
"""Its own controller looks at an autoscaler some seconds after it was made."""
Leaf = tuple[str, str]
"""Name of the snapshot and path within it; the name is empty for what concerns the whole case."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One leaf that has another value here than in the recording."""

    step: str
    path: str
    golden: Any
    ours: Any

    def __str__(self) -> str:
        return f"[{self.step}] {self.path}\n    golden: {self.golden!r}\n    ours:   {self.ours!r}"


def differences(golden: Record, ours: Record) -> list[Difference]:
    """All leaves that differ, but for those in which the recorded operator differed from itself (`volatile`)."""
    wanted, found = _leaves(golden), _leaves(ours)
    volatile = {(step, path) for step, path in golden.get("volatile", ())}
    pairs = {leaf: (wanted.get(leaf, ABSENT), found.get(leaf, ABSENT)) for leaf in [*wanted, *found]}
    return [
        Difference(*leaf, a, b)
        for leaf, (a, b) in pairs.items()
        if a != b and leaf not in volatile and not fnmatchcase(leaf[1], WRITTEN_BY_THE_CLUSTER)
    ]


def differences_of_step(golden: Record, ours: Snapshot) -> list[Difference]:
    """The same for the state after one step; a step that the recording does not have differs in nothing."""
    same = [snapshot for snapshot in golden["snapshots"] if snapshot["step"] == ours["step"]]
    return (
        differences({**golden, "snapshots": same}, {"rejected": golden["rejected"], "snapshots": [ours]})
        if same
        else []
    )


def _leaves(record: Record) -> dict[Leaf, Any]:
    leaves: dict[Leaf, Any] = {
        ("", "rejected"): record["rejected"],
        ("", "steps"): [snapshot["step"] for snapshot in record["snapshots"]],
    }
    for snapshot in record["snapshots"]:
        for field, value in snapshot["state"].items():
            found = _events(value) if field == "events" else leaves_of(value, field)
            leaves |= {(snapshot["step"], path): leaf for path, leaf in found}
    return leaves


def _events(events: Iterable[list[str]]) -> Iterator[tuple[str, Any]]:
    """Events are a set: each is a path of its own."""
    for event in events:
        yield f"events/{' | '.join(event)}", True


@dataclass(frozen=True, slots=True)
class Rule:
    """A difference that is meant: where (globs), with which value, and the decision behind it.

    An entry of the file has these keys; `step` may be left out, `ours` is our exact value, `absent: true` says that
    there is none, and without both any value will do.
    """

    case: str
    path: str
    why: str
    step: str = "*"
    absent: bool = False
    ours: Any = None
    any_value: bool = True

    @classmethod
    def parse(cls, raw: dict[str, Any]) -> Rule:
        """Read one entry of the file; an unknown or missing key is an error that quotes the entry."""
        unknown = raw.keys() - {"case", "step", "path", "ours", "absent", "why"}
        missing = {"case", "path", "why"} - raw.keys()
        if unknown or missing:
            raise ValueError(f"deviation {raw}: unknown keys {sorted(unknown)}, missing keys {sorted(missing)}")
        return cls(any_value="ours" not in raw and not raw.get("absent", False), **raw)

    def explains(self, case: str, difference: Difference) -> bool:
        """Whether this difference of this case is the one that is meant."""
        here = (
            fnmatchcase(case, self.case)
            and fnmatchcase(difference.step, self.step)
            and fnmatchcase(difference.path, self.path)
        )
        return here and (self.any_value or difference.ours == (ABSENT if self.absent else self.ours))


class Deviations:
    """The differences that are meant, and which of them have been seen."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = list(rules)
        self._used: set[int] = set()

    @classmethod
    def load(cls, path: Path) -> Deviations:
        """Read a file: a list of entries as `Rule` describes them."""
        return cls(Rule.parse(raw) for raw in yaml.load(path.read_text(), Loader=yaml.CSafeLoader) or [])

    def unexplained(self, case: str, found: Iterable[Difference]) -> list[Difference]:
        """The differences that no rule means; the first rule that explains one counts as used."""
        return [difference for difference in found if not self._explained(case, difference)]

    def unused(self, case: str | None = None) -> list[Rule]:
        """Rules that explained nothing so far: all, or those that name this one case."""
        left = [rule for index, rule in enumerate(self._rules) if index not in self._used]
        return [rule for rule in left if case in (None, rule.case)]

    def _explained(self, case: str, difference: Difference) -> bool:
        for index, rule in enumerate(self._rules):
            if rule.explains(case, difference):
                self._used.add(index)
                return True
        return False
