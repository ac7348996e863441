"""What must hold for any pods: nothing differs from itself, and no value can change unseen."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_tests.migration.diff.renderings import WORKED, both

from training_migration.diff.fields import ELSEWHERE, NOT_COMPARED
from training_migration.diff.folding import folded
from training_migration.diff.leaves import leaves
from training_migration.diff.model import Aspect, Item, Likeness, Pair
from training_migration.diff.pairing import Place
from training_migration.diff.pods import Pods
from training_migration.diff.side import RenderedSide
from training_migration.diff.whole import whole_items
from training_migration.rendering import Rendering
from training_migration.v1_job import V1Job

Json = dict[str, Any]
Steps = tuple[str | int, ...]
TOLD_ELSEWHERE = re.compile(r"spec\.(restartPolicy|hostname|subdomain)$|spec\.containers\[\d+\]\.name$")
"""Of these the situations, the names of hosts and the container's place in the rendering speak, not the pod alone."""

cached = cache(both)


def one_side(name: str, side: int) -> tuple[V1Job, Rendering]:
    """A worked job, and what one side makes of it."""
    job, *sides = cached(name)
    return job, sides[side - 1]


def pods(job: V1Job, v1: Rendering, v2: Rendering) -> Pods:
    """Both sides, which may be the same one; the life cycle is left out, of which v1's side is in the job itself."""
    sides = RenderedSide("v1", v1), RenderedSide("v2", v2)
    return Pods(job.job.info.kind, job.job.metadata.name, sides)


@pytest.mark.parametrize("side", [1, 2])
@pytest.mark.parametrize("name", WORKED)
def test_nothing_differs_from_itself(name: str, side: int) -> None:
    job, rendering = one_side(name, side)
    same = pods(job, rendering, rendering)
    compared = [item for pair in same.pairs() for item in pair.items] + list(whole_items(*same.sides))
    assert [item for item in compared if item.verdict is not Likeness.SAME] == []
    assert len(compared) > 20
    assert same.meetings[0].described(0) == same.meetings[0].described(1)


@pytest.mark.parametrize("side", [1, 2])
@pytest.mark.parametrize("name", WORKED)
def test_every_value_has_a_class(name: str, side: int) -> None:
    """An item of its own, a sort of items that it is part of, or a reason why it says nothing."""
    job, rendering = one_side(name, side)
    same = pods(job, rendering, rendering)
    result = {item.path for pair in same.pairs() for item in pair.items}
    result |= {each.path for each in same.not_compared()}
    for pod in rendering.pods:
        for path, leaf in leaves(pod).by_path.items():
            elsewhere = any(re.match(each.pattern, path) for each in ELSEWHERE)
            assert elsewhere or leaf.path in result or path in result, path
            assert sum(any(re.match(each.pattern, path) for each in table) for table in (ELSEWHERE, NOT_COMPARED)) < 2


def values(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """The way to every value of an object that is no container of others."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from values(each, (*steps, key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from values(each, (*steps, position))
    else:
        yield steps


def written(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def changed(rendering: Rendering, number: int, steps: Steps) -> Rendering:
    """The rendering with another value there in one pod."""
    pods = list(rendering.pods)
    pod = copy.deepcopy(pods[number].pod)
    holder: Any = pod
    for step in steps[:-1]:
        holder = holder[step]
    value = holder[steps[-1]]
    holder[steps[-1]] = value + 1 if isinstance(value, int) and not isinstance(value, bool) else f"{value}x"
    pods[number] = replace(pods[number], pod=pod)
    return replace(rendering, pods=tuple(pods))


@settings(max_examples=tries(30))
@given(st.data())
def test_no_value_changes_unseen(data: st.DataObject) -> None:
    name, side = data.draw(st.sampled_from(sorted(WORKED))), data.draw(st.sampled_from((1, 2)))
    job, rendering = one_side(name, side)
    number = data.draw(st.integers(0, len(rendering.pods) - 1))
    steps = data.draw(st.sampled_from(list(values(rendering.pods[number].pod))))
    if TOLD_ELSEWHERE.match(written(steps)):
        return
    other = pods(job, rendering, changed(rendering, number, steps))
    seen = [item for pair in other.pairs() for item in pair.items if item.verdict is not Likeness.SAME]
    reasons = [each for each in NOT_COMPARED if re.match(each.pattern, ".".join(map(str, steps)))]
    assert seen or reasons, written(steps)


VERDICTS = st.sampled_from(Likeness)
ITEMS = st.lists(
    st.builds(
        Item,
        st.sampled_from(Aspect),
        st.sampled_from(("a", "b")),
        st.sampled_from(("1", "2")),
        st.sampled_from(("1", "2")),
        VERDICTS,
    ),
    max_size=2,
).map(tuple)


@settings(max_examples=tries(20))
@given(st.lists(st.tuples(st.sampled_from(("worker", "ps")), ITEMS), max_size=8))
def test_folding_loses_no_pod_and_no_verdict(given: list[tuple[str, tuple[Item, ...]]]) -> None:
    pairs = [Pair((Place(role, n),), (Place("node", n),), items) for n, (role, items) in enumerate(given)]
    found = folded(pairs)
    assert [place for pair in found for place in pair.v1] == [pair.v1[0] for pair in pairs]
    assert [place for pair in found for place in pair.v2] == [pair.v2[0] for pair in pairs]
    unfolded = [[(item.path, item.verdict) for item in pair.items] for pair in found for _ in pair.v1]
    assert unfolded == [[(item.path, item.verdict) for item in pair.items] for pair in pairs]
    neighbours = pairwise(found)
    assert all(one.v1[0].role != other.v1[0].role or one.items != other.items for one, other in neighbours)
