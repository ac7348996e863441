"""Work of many items by several processes: in order, with its failures, and the same as by one."""

from __future__ import annotations

import os
import signal
from multiprocessing import active_children
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from unit_tests.migration.conversions import jax, pytorch

from training_migration import parallel
from training_migration.cli import migrate
from training_migration.exits import Exit, Failure
from training_migration.verbs.loading import Given

MANY = 40


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(parallel, "FEWEST", 10)


def test_many_items_are_made_by_several_processes_and_few_by_this_one() -> None:
    made = parallel.each(lambda item: (item, os.getpid()), range(MANY))
    assert [item for item, _ in made] == list(range(MANY))
    processes = {process for _, process in made}  # one may be so fast that nothing is left for the other
    assert os.getpid() not in processes
    assert len(processes) <= 2
    assert {process for _, process in parallel.each(lambda item: (item, os.getpid()), range(9))} == {os.getpid()}


def test_what_a_killed_process_had_is_made_by_this_one() -> None:
    this = os.getpid()

    def work(item: int) -> int:
        if item == 7 and os.getpid() != this:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert parallel.each(work, range(MANY)) == list(range(MANY))


def test_an_interrupt_does_not_wait_for_what_others_are_at() -> None:
    this = os.getpid()

    def work(item: int) -> None:
        if item == 0:
            os.kill(this, signal.SIGINT)
        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        parallel.each(work, range(MANY))
    assert active_children() == []


def test_failures_of_other_processes_are_reported() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise Failure("three.", Exit.REJECTED)
        return 1 // (item - 7)

    read = Given()
    assert len(read.each(range(MANY), lambda item: f"place {item}", work, picklable=True)) == MANY - 2
    assert [(str(each).partition(" ZeroDivisionError")[0], each.code) for each in read.failures] == [
        ("three.", Exit.REJECTED),
        ("place 7: It cannot be read:", Exit.USAGE),
    ]


def test_a_fleet_becomes_the_same_by_one_process_and_by_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs").mkdir()
    for number in range(MANY // 2):
        obj = {**(jax(2) if number % 2 else pytorch(1)), "metadata": {"name": f"job-{number}"}}
        (tmp_path / "jobs" / f"{number}.yaml").write_text(f"# number {number}\n{yaml.safe_dump(obj)}")

    def converted(processors: set[int]) -> tuple[str, dict[str, str]]:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: processors)
        out = tmp_path / f"v2-{len(processors)}"
        result = CliRunner().invoke(migrate, ["convert", str(tmp_path / "jobs"), "-o", str(out), "--target", "2.3"])
        assert result.exit_code == 0
        files = {str(each.relative_to(out)): each.read_text() for each in out.rglob("*.yaml")}
        return result.stderr, files

    assert converted({0}) == converted({0, 1})
