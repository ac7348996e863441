"""How far training is: parsed from logs, told by TrainJobs, honest where nothing is known."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from unit_tests.console.served import condition, served
from unit_tests.local.pods import RUNNING, pod

from training_console.model.curves import measured
from training_console.model.jobs import resources
from training_console.model.training import Training, training_of
from training_console.reading.training import MOST_JOBS, TrainingSeen

STAMP = "2026-01-01T12:00:0{}.5Z"


def lines(*texts: str) -> list[tuple[str, str]]:
    return [(STAMP.format(second), text) for second, text in enumerate(texts)]


def test_steps_are_those_of_the_replica_that_is_behind() -> None:
    found = training_of(
        {
            "worker-0": lines("step 1/10 lr=1e-3 loss 2.5 acc 0.1 f1 0.2", "step 4/10 lr=1e-3 loss 1.25"),
            "worker-1": lines("step 3/10 loss 9"),
        }
    )
    assert found is not None
    assert (found.share, found.steps) == (0.3, "3/10")
    assert found.numbers == ("loss 1.25", "lr 0.001", "acc 0.1"), "the latest of each, the loss first"
    assert found.told_by == "worker-0"
    assert found.at == datetime(2026, 1, 1, 12, 0, 1, 500_000, tzinfo=UTC)


def test_numbers_without_steps_and_steps_without_numbers_are_something() -> None:
    alone = training_of({"master-0": lines("validation loss: 0.5")})
    assert alone is not None and (alone.share, alone.steps, alone.numbers) == (None, "", ("loss 0.5",))
    bare = training_of({"master-0": lines("Epoch [2/4]")})
    assert bare is not None and (bare.share, bare.numbers) == (0.5, ())


def test_of_logs_that_tell_nothing_nothing_is_said() -> None:
    assert training_of({"worker-0": lines("hello", 'File "a.py", line 4, in f', "loss is nan")}) is None
    assert training_of({}) is None


def test_a_train_job_tells_its_own_progress() -> None:
    resource = next(each for each in resources() if each.kind == "TrainJob")
    told = {
        "progressPercentage": 45,
        "metrics": [{"name": "acc", "value": "0.9"}, {"name": "loss", "value": "0.25"}],
        "lastUpdatedTime": "2026-01-01T12:00:00Z",
    }
    metadata = {"name": "new", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    row = resource.decode(msgspec.json.encode({"metadata": metadata, "status": {"trainerStatus": told}}))
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert row.training == Training(0.45, "", ("loss 0.25", "acc 0.9"), "its status", at)
    assert resource.decode(msgspec.json.encode({"metadata": metadata})).training is None


def test_no_line_keeps_the_console_busy() -> None:
    begun = time.process_time()
    for hostile in ("a" + " " * 100_000, "a" * 100_000, "a=" * 50_000, "step " * 20_000, "1/" * 50_000):
        assert not list(measured(hostile))
        training_of({"worker-0": [("", hostile[:4_000])] * 40})
    assert time.process_time() - begun < 2.0, "quadratic patterns took minutes"


def test_so_many_jobs_are_remembered() -> None:
    seen = TrainingSeen()
    for number in range(MOST_JOBS + 1):
        seen.keep(str(number), Training(None, str(number), (), "", None))
    assert seen.of("0") is None and seen.of(str(MOST_JOBS)) is not None


async def test_a_page_says_that_nothing_is_known(tmp_path: Path) -> None:
    async with served(tmp_path) as console:
        await console.job(status={"conditions": [condition("Created"), condition("Running")]})
        await console.pod("sim", pod("worker-0", RUNNING))
        page = await console.text("/jobs/default/jaxjobs/sim")
        assert "Progress not known: no replica has printed any" in page
