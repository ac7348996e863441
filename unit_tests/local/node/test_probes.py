"""When containers are asked how they are, and what follows: the decisions, in virtual time, without processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from e2e.support.virtual_time import VirtualLoop

from training_local.node.podspec import Container
from training_local.node.prober import Prober
from training_local.node.probes import Health, Kind, Probe, ProbeResult, Tally, killing, probes, unhealthy

EXEC = {"exec": {"command": ["true"]}}


def container(**asked: Any) -> Container:
    return Container("main", **asked)


def tallies(answers: str, successes: int, failures: int) -> str:
    """What follows each answer: `+` and `-` for results, `.` for none yet."""
    probe, tally, seen = Probe(Kind.READINESS, {}, successes=successes, failures=failures), Tally(), ""
    for answer in answers:
        tally = tally.after(answer == "y", probe)
        seen += {True: "+", False: "-", None: "."}[tally.result]
    return seen


@pytest.mark.parametrize(
    ("answers", "successes", "failures", "results"),
    [
        ("ynny", 1, 1, "+--+"),
        ("nnn", 1, 3, "..-"),
        ("ynnynnn", 1, 3, "++++++-"),
        ("nyny", 2, 1, "----"),
        ("yyny", 2, 1, ".+--"),
        ("yy", 2, 1, ".+"),
        ("nnyyn", 2, 2, ".--++"),
    ],
)
def test_thresholds(answers: str, successes: int, failures: int, results: str) -> None:
    assert tallies(answers, successes, failures) == results


def test_defaults_of_the_api() -> None:
    (probe,) = probes(container(liveness_probe={**EXEC, "periodSeconds": 0})).values()
    assert (probe.initial_delay, probe.period, probe.timeout) == (0, 10, 1)
    assert (probe.successes, probe.failures, probe.grace) == (1, 3, None)
    assert not probes(container(liveness_probe={"grpc": {"port": 1}}))


def test_health_at_the_start() -> None:
    assert Health.at_start(container()) == Health(started=True, ready=True)
    assert Health.at_start(container(liveness_probe=EXEC)) == Health(started=True, ready=True)
    assert Health.at_start(container(readiness_probe=EXEC)) == Health(started=True, ready=False)
    assert Health.at_start(container(startup_probe=EXEC)) == Health(started=False, ready=False)


class Played:
    """A container that answers by script, and everything that its prober has done, with the time."""

    def __init__(self, asked: Container, **answers: Iterable[str]) -> None:
        self.asked = probes(asked)
        self.answers = {kind: iter(answers.get(kind.lower(), ())) for kind in Kind}
        self.seen: list[str] = []
        self.prober = Prober(self.asked, Health.at_start(asked), self.check, changed=self.changed, failed=self.failed)

    def note(self, what: str) -> None:
        self.seen.append(f"{asyncio.get_running_loop().time():g} {what}")

    async def check(self, probe: Probe) -> ProbeResult:
        answer = next(self.answers[probe.kind], "")
        if not answer:
            await asyncio.sleep(1e6)
        self.note(f"{probe.kind.lower()} {answer}")
        await asyncio.sleep(0.5 if answer == "slow" else 0)
        return ProbeResult(answer != "no", "said no" if answer == "no" else "")

    def changed(self, health: Health) -> None:
        self.note(f"started={health.started} ready={health.ready}")

    def failed(self, kind: Kind, outcome: ProbeResult) -> None:
        self.note(unhealthy(kind, outcome))

    def run(self, seconds: float = 100) -> Kind | None:
        async def play() -> Kind | None:
            try:
                async with asyncio.timeout(seconds):
                    return (await self.prober.run()).kind
            except TimeoutError:
                return None

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(play())


def test_a_failing_liveness_probe_ends_the_container_after_its_threshold() -> None:
    asked = container(liveness_probe={**EXEC, "initialDelaySeconds": 3, "periodSeconds": 5, "failureThreshold": 2})
    played = Played(asked, liveness=["yes", "no", "yes", "no", "no"])
    assert played.run() is Kind.LIVENESS
    failed = "Liveness probe failed: said no"
    assert played.seen == [
        "3 liveness yes",
        "8 liveness no",
        f"8 {failed}",
        "13 liveness yes",
        "18 liveness no",
        f"18 {failed}",
        "23 liveness no",
        f"23 {failed}",
    ]


def test_readiness_comes_and_goes_and_ends_nothing() -> None:
    asked = container(readiness_probe={**EXEC, "periodSeconds": 2, "failureThreshold": 1})
    played = Played(asked, readiness=["no", "yes", "yes", "no", "slow"])
    assert played.run() is None
    assert [line for line in played.seen if "ready=" in line] == [
        "2 started=True ready=True",
        "6 started=True ready=False",
        "8.5 started=True ready=True",
    ]


def test_other_probes_wait_for_the_startup_probe() -> None:
    asked = container(
        startup_probe={**EXEC, "periodSeconds": 1, "failureThreshold": 5},
        liveness_probe={**EXEC, "periodSeconds": 4, "failureThreshold": 1},
        readiness_probe={**EXEC, "initialDelaySeconds": 9},
    )
    played = Played(asked, startup=["no", "no", "yes", "never"], liveness=["yes", "no"], readiness=["never"])
    assert played.run() is Kind.LIVENESS
    assert [line for line in played.seen if "said" not in line] == [
        "0 startup no",
        "1 startup no",
        "2 startup yes",
        "2 started=True ready=False",
        "2 liveness yes",
        "6 liveness no",
    ]


def test_a_failed_startup_probe_ends_the_container() -> None:
    played = Played(container(startup_probe={**EXEC, "failureThreshold": 2}), startup=["no", "no"])
    assert played.run() is Kind.STARTUP
    assert killing("main", Kind.STARTUP, again=True) == "Container main failed startup probe, will be restarted"
    assert killing("main", Kind.LIVENESS, again=False) == "Container main failed liveness probe"
