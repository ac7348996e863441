"""What users do and what programs do, drawn from a seed: the same with and without disturbances."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from e2e.support.simulation.api import Json
from e2e.support.simulation.jobs import extended, jax, mpi, paddle, pytorch

from training_api.registry import KINDS

Slot = tuple[str, str, int]
"""Job, replica type in lower case, index."""


@dataclass(frozen=True)
class UserAction:
    """At some moment a user changes or deletes a job."""

    at: float
    kind: str
    job: str
    patch: Json | None
    """None deletes the job."""


@dataclass
class Scenario:
    """Jobs, how often and with which code their replicas end, and what users do meanwhile."""

    seed: int
    jobs: list[Json] = field(default_factory=list)
    exits: dict[Slot, list[int]] = field(default_factory=dict)
    """Exit codes of the attempts of a replica, one after the other; what follows them succeeds."""
    actions: list[UserAction] = field(default_factory=list)
    interrupted: set[str] = field(default_factory=set)
    """Jobs that are suspended or made smaller for a while: a pod may fail while it is stopped, which is not counted."""
    timely: set[str] = field(default_factory=set)
    """Jobs of which only the end is certain, because what they count depends on who is faster."""
    open_ended: set[str] = field(default_factory=set)
    """Jobs of which not even that is certain: a failure races against success, or against an interruption."""

    def run_time(self, slot: Slot, attempt: int) -> float:
        """Seconds for which an attempt runs."""
        return random.Random(f"{self.seed}/{slot}/{attempt}").uniform(1, 15)


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(f"scenario {seed}")
    scenario = Scenario(seed)
    for number in range(rng.randint(1, 2)):
        _draw_job(scenario, rng, f"job{number}")
    return scenario


def _draw_job(scenario: Scenario, rng: random.Random, name: str) -> None:
    workers, policy = rng.randint(1, 3), rng.choice(["OnFailure", "ExitCode", "Never"])
    run = {"cleanPodPolicy": rng.choice(["All", "Running", "None"])}
    kind, master = rng.choice(["jax", "pytorch", "pytorch", "paddle", "mpi"]), ""
    if kind == "mpi":
        master, policy = "launcher", "Never" if policy == "OnFailure" else policy
        job = mpi(name, workers=workers, policy=policy, **run)
        if random.Random(f"launch {scenario.seed} {name}").random() < 0.5:
            extended(job, "mpi-launch", "ssh")
    elif kind == "jax":
        job = jax(name, workers=workers, policy=policy, **run)
    else:
        master = "master" if rng.random() < 0.5 else ""
        make = pytorch if kind == "pytorch" else paddle
        job = make(name, workers=workers, policy=policy, master=bool(master), **run)
    scenario.jobs.append(job)
    for index in range(workers):
        scenario.exits[name, "worker", index] = _draw_exits(rng, policy)
    if master:
        # Its success ends the job, whatever the workers do at that moment.
        scenario.timely.add(name)
        scenario.exits[name, master, 0] = _draw_exits(rng, policy)
    fails = False
    codes = [code for slot, codes in scenario.exits.items() if slot[0] == name for code in codes]
    if (any(code < 128 for code in codes) and policy == "ExitCode") or (codes and policy == "Never"):
        scenario.timely.add(name)
        fails = True
    elif workers == 1 and not master and rng.random() < 0.3:
        job["spec"]["runPolicy"]["backoffLimit"] = rng.randint(1, 3)
    _draw_actions(scenario, rng, job)
    limited = "backoffLimit" in job["spec"]["runPolicy"]
    if (fails and master) or ((fails or limited) and name in scenario.interrupted):
        scenario.timely.add(name)
        scenario.open_ended.add(name)


def _draw_exits(rng: random.Random, policy: str) -> list[int]:
    if policy == "Never":
        return [1] if rng.random() < 0.15 else []
    codes = [rng.choice([1, 137, 143]) if policy == "OnFailure" else rng.choice([137, 143, 139]) for _ in range(3)]
    codes = codes[: rng.choice([0, 0, 1, 1, 2, 3])]
    if policy == "ExitCode" and rng.random() < 0.1:
        codes.append(1)
    return codes


def _draw_actions(scenario: Scenario, rng: random.Random, job: Json) -> None:
    kind, name, at = job["kind"], job["metadata"]["name"], rng.uniform(1, 40)

    def act(delay: float, patch: Json | None) -> None:
        scenario.actions.append(UserAction(at + delay, kind, name, patch))

    choice = rng.random()
    if choice < 0.15:
        scenario.interrupted.add(name)
        act(0, {"spec": {"runPolicy": {"suspend": True}}})
        act(rng.uniform(1, 20), {"spec": {"runPolicy": {"suspend": False}}})
    elif choice < 0.25:
        # What the replicas that go have done by then is a matter of time.
        scenario.timely.add(name)
        scenario.interrupted.add(name)
        field_name = KINDS[kind].replica_field
        for delay, workers in ((0.0, 1), (rng.uniform(1, 10), 3)):
            act(delay, {"spec": {field_name: {"Worker": {"replicas": workers}}}})
    elif choice < 0.35:
        act(0, None)
    elif choice < 0.6:
        for number in range(3):
            act(number * rng.uniform(0, 3), {"metadata": {"labels": {"touched": str(number)}}})
