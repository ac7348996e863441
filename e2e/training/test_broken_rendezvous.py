"""A job whose ranks cannot meet fails, within a limit, and says so.

The operator's variables stand behind those of the user, so a wrong value must be given where the program is started.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

from training_local.run.examples import DEMOS

POD_FAILED = r"reached the specified backoff limit\. Pod \S+: container \w+ exited with code [1-9]"
TOO_LONG = r"was active longer than specified deadline"
NOBODY = "nobody.invalid"
TWO_TIMES_RANK_0 = {"cluster": {"worker": ["localhost:2222", f"{NOBODY}:2222"]}, "task": {"type": "worker", "index": 0}}


@dataclass(frozen=True)
class Broken:
    """What is wrong, and how the job must end."""

    wrong: dict[str, str]
    """Variables that win against those of the operator."""
    message: str
    """Pattern of the condition Failed."""
    said: str
    """Pattern of what a pod prints; empty where the framework waits in silence."""
    types: tuple[str, ...] = ()
    """The replica types that get the wrong variables; none means all."""
    deadline: int = 60
    """Seconds after which the operator ends the job; short where the framework would wait for long."""
    given: dict[str, str] = field(default_factory=lambda: {"RENDEZVOUS_SECONDS": "3"})
    """Other variables of the user."""


BROKEN = {
    "jax": Broken({"COORDINATOR_ADDRESS": NOBODY}, POD_FAILED, "DEADLINE_EXCEEDED|UNAVAILABLE"),
    "pytorch": Broken({"MASTER_ADDR": NOBODY}, POD_FAILED, NOBODY),
    "tensorflow": Broken({"TF_CONFIG": json.dumps(TWO_TIMES_RANK_0)}, TOO_LONG, "", deadline=12),
    "xgboost": Broken({"MASTER_ADDR": NOBODY}, POD_FAILED, f"{NOBODY} has no address"),
    "mpi": Broken(
        {"OMPI_MCA_orte_default_hostfile": "/wrong/hostfile"}, POD_FAILED, "is forbidden", types=("Launcher",)
    ),
    "paddle": Broken({"PADDLE_MASTER": f"{NOBODY}:2222"}, TOO_LONG, "", deadline=12),
}
NOW = ("pytorch", "mpi")
"""The two ways to start ranks; how other frameworks wait in vain changes with their versions only."""
EACH = [
    pytest.param(
        name,
        marks=[pytest.mark.framework(name=name), *([] if name in NOW else [pytest.mark.weekly])],
        id=name,
    )
    for name in DEMOS
]


@pytest.mark.parametrize("framework", EACH)
async def test_ranks_that_cannot_meet_fail_the_job(framework: str, start: Start) -> None:
    broken, example = BROKEN[framework], Example(DEMOS[framework].file)
    example.override(*broken.types, **broken.wrong)
    example.set(**broken.given)
    example.give_up(broken.deadline)
    if framework == "mpi":
        give_hostfile(example, "mpi-linear-worker-8 slots=1\nmpi-linear-worker-9 slots=1\n")
    outcome = await (await start(example)).end()
    assert outcome.condition["type"] == "Failed", outcome.text
    assert outcome.condition["reason"] == f"{example.job['kind']}Failed", outcome.text
    assert re.search(broken.message, outcome.condition["message"]), outcome.text
    assert re.search(broken.said, "\n".join(outcome.logs.values())), outcome.text
    assert outcome.reports == [], f"ranks met after all: {outcome.text}"


def give_hostfile(example: Example, content: str) -> None:
    """Mount a hostfile of the user's in the launcher, at /wrong."""
    example.others.append({"kind": "ConfigMap", "metadata": {"name": "wrong"}, "data": {"hostfile": content}})
    spec = example.replicas["Launcher"]["template"]["spec"]
    spec["volumes"] = [{"name": "wrong", "configMap": {"name": "wrong"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "wrong", "mountPath": "/wrong"}]
