from __future__ import annotations

import pytest
from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st

from training_api.registry import KINDS
from training_migration.diff.pairing import RULES, Place, pair_places


def places(text: str) -> list[Place]:
    """`master:1 worker:2`: how many of each role."""
    roles = (word.split(":") for word in text.split())
    return [Place(role, index) for role, count in roles for index in range(int(count))]


def paired(kind: str, v1: str, v2: str) -> str:
    return ", ".join(f"{first or '-'} = {second or '-'}" for first, second in pair_places(kind, places(v1), places(v2)))


@pytest.mark.parametrize(
    ("kind", "v1", "v2", "expected"),
    [
        ("PyTorchJob", "worker:2 master:1", "node:3", "master 0 = node 0, worker 0 = node 1, worker 1 = node 2"),
        ("PyTorchJob", "worker:2", "node:2", "worker 0 = node 0, worker 1 = node 1"),
        (
            "PyTorchJob",
            "master:1 worker:2",
            "worker:2 master:1",
            "master 0 = master 0, worker 0 = worker 0, worker 1 = worker 1",
        ),
        ("PyTorchJob", "master:1 worker:2", "node:2", "master 0 = node 0, worker 0 = node 1, worker 1 = -"),
        ("PyTorchJob", "master:1", "node:1 dataset-initializer:1", "master 0 = node 0, - = dataset-initializer 0"),
        ("XGBoostJob", "master:1 worker:1", "node:2", "master 0 = node 0, worker 0 = node 1"),
        ("JAXJob", "worker:2", "node:2", "worker 0 = node 0, worker 1 = node 1"),
        ("PaddleJob", "worker:1 master:1", "node:2", "master 0 = node 0, worker 0 = node 1"),
        (
            "TFJob",
            "ps:1 worker:2 chief:1",
            "chief:1 worker:2 ps:1",
            "chief 0 = chief 0, worker 0 = worker 0, worker 1 = worker 1, ps 0 = ps 0",
        ),
        ("TFJob", "master:1 worker:1", "chief:1 worker:1", "master 0 = chief 0, worker 0 = worker 0"),
        ("TFJob", "worker:1 evaluator:1", "worker:1", "worker 0 = worker 0, evaluator 0 = -"),
        (
            "MPIJob",
            "launcher:1 worker:2",
            "node:2 launcher:1",
            "launcher 0 = launcher 0, worker 0 = node 0, worker 1 = node 1",
        ),
        ("MPIJob", "launcher:1 worker:1", "node:2 launcher:2", "launcher 0 = launcher 0, worker 0 = node 0, "
         "- = launcher 1, - = node 1"),
    ],
)  # fmt: skip
def test_pods_are_paired_by_the_rule_of_their_kind(kind: str, v1: str, v2: str, expected: str) -> None:
    assert paired(kind, v1, v2) == expected


def test_every_kind_has_a_rule() -> None:
    assert RULES.keys() == KINDS.keys()


ROLES = st.sampled_from(("master", "worker", "chief", "ps", "launcher", "node", "odd"))


@settings(max_examples=tries(20))
@given(
    st.sampled_from(sorted(KINDS)),
    st.sets(st.builds(Place, ROLES, st.integers(0, 4))),
    st.sets(st.builds(Place, ROLES, st.integers(0, 4))),
)
def test_every_pod_is_in_exactly_one_pair(kind: str, v1: set[Place], v2: set[Place]) -> None:
    pairs = pair_places(kind, v1, v2)
    assert sorted(first for first, _ in pairs if first is not None) == sorted(v1)
    assert sorted(second for _, second in pairs if second is not None) == sorted(v2)
