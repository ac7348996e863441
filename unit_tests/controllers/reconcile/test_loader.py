"""From a cached job to one that can be decided on, or to the sentence that says why not."""

from __future__ import annotations

import json
from typing import Any

from unit_tests.controllers.builders import framework_of, stored_job

from training_controllers.model.records import JobRecord
from training_controllers.reconcile.loader import DECODED_BYTES, STATUS_BYTES, Loader
from training_operator.kube import decoders


def record(stored: dict[str, Any]) -> JobRecord:
    return decoders.job(json.dumps(stored).encode())


def record_of_size(name: str, size: int) -> JobRecord:
    """A job of which so many bytes are decoded."""
    stored = stored_job("TFJob", {"Worker": 2}, name=name)
    stored["metadata"] |= {"uid": name, "annotations": {"a": ""}}
    stored["metadata"]["annotations"]["a"] = "x" * (size - len(record(stored).raw))
    return record(stored)


def test_a_port_without_number_is_a_problem_of_the_job() -> None:
    """TF_CONFIG is measured before there are pods, and names the ports of all."""
    stored = stored_job("TFJob", {"Worker": 2})
    container = stored["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "tfjob-port"}]
    loader = Loader(framework_of("TFJob"))
    assert loader.load(record(stored)).problem == "container port 'tfjob-port' has no number"
    finished = loader.load(record(stored | {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}))
    assert finished.job is not None, "it has to be cleaned up"
    assert finished.problem == ""


def test_all_problems_of_a_job_are_in_one_sentence() -> None:
    stored = stored_job("TFJob", {"PS": -2, "Worker": -1})
    assert Loader(framework_of("TFJob")).load(record(stored)).problem == (
        "spec.tfReplicaSpecs[PS].replicas: Invalid value: -2: must not be negative; "
        "spec.tfReplicaSpecs[Worker].replicas: Invalid value: -1: must not be negative"
    )


def test_a_status_that_cannot_be_read_is_a_problem_of_the_job() -> None:
    stored = stored_job("TFJob", {"Worker": 2}) | {"status": {"attempt": "x"}}
    loaded = Loader(framework_of("TFJob")).load(record(stored))
    assert loaded.job is None
    assert loaded.problem.startswith("status.attempt: Invalid value")


def test_the_jobs_reconciled_last_stay_decoded_as_far_as_they_fit() -> None:
    loader, quarter = Loader(framework_of("TFJob")), DECODED_BYTES // 4
    sizes = {"a": 3, "b": 1, "c": 1, "d": 2, "e": 1}
    records = {name: record_of_size(name, quarters * quarter) for name, quarters in sizes.items()}
    first = dict[str, object]()

    def kept(name: str) -> bool:
        """Whether the spec that was decoded first is still the one in use."""
        job = loader.load(records[name]).job
        assert job is not None
        return first.setdefault(name, job.spec) is job.spec

    assert [kept(name) for name in "baab"] == [True] * 4
    assert [kept(name) for name in "cdbcd"] == [True] * 5, "only a had to go"
    loader.forget(records["c"].uid)
    assert [kept(name) for name in "ebde"] == [True] * 4
    assert [kept(name) for name in "ad"] == [False] * 2


def test_an_earlier_version_of_a_job_takes_no_place() -> None:
    loader = Loader(framework_of("TFJob"))
    other = record_of_size("other", DECODED_BYTES // 2)
    kept = loader.load(other).job
    for size in range(DECODED_BYTES // 3, DECODED_BYTES // 3 + 4):
        loader.load(record_of_size("changed", size))
    again = loader.load(other).job
    assert kept is not None and again is not None
    assert again.spec is kept.spec


def test_a_finished_job_does_not_stay_decoded() -> None:
    loader = Loader(framework_of("TFJob"))
    stored = stored_job("TFJob", {"Worker": 2})
    finished = record(stored | {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
    running, last, next_one = (loader.load(each).job for each in (record(stored), finished, finished))
    assert running is not None and last is not None and next_one is not None
    assert (last.spec is running.spec, next_one.spec is running.spec) == (True, False)


def test_a_status_that_was_read_a_moment_ago_stays_decoded_unless_it_is_long() -> None:
    loader = Loader(framework_of("TFJob"))
    short, long = (
        json.dumps({"replicaStatuses": {"Worker": {"completedIndexes": "1" * size}}}).encode()
        for size in (10, STATUS_BYTES)
    )
    assert loader.status(short) is loader.status(short)
    assert loader.status(long) is not loader.status(long)
