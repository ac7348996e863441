"""Of many replicas some stand for all: what is said of the job is the same as if all were compared."""

from __future__ import annotations

import pytest
from unit_tests.migration.conversions import Json, converted, jax, mpi, pytorch, tensorflow

from training_migration.convert.round_trip import round_trip
from training_migration.diff import pods
from training_migration.diff.model import Difference

JOBS = {
    "pytorch": pytorch(30),
    "workers-alone": pytorch(30, master=False, command=["torchrun", "train.py"]),
    "host-names": pytorch(30, command=["sh", "-c", "python train.py $(hostname | cut -d- -f3) job-master-0"]),
    "jax": jax(30),
    "mpi": mpi(30),
    "tensorflow": tensorflow({"Chief": 1, "PS": 30, "Worker": 30}),
}


def compared(job: Json) -> Difference:
    difference = round_trip(converted(job)).difference
    assert difference is not None
    return difference


@pytest.mark.parametrize("name", JOBS)
def test_those_that_stand_for_all_show_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some = compared(JOBS[name])
    monkeypatch.setattr(pods.Pods, "_sample", lambda _, group: group)
    every = compared(JOBS[name])
    assert (some.headline, some.training, some.not_compared) == (every.headline, every.training, every.not_compared)
    assert some.pairs == every.pairs
