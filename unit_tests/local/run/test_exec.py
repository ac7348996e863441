"""Entering a pod: what is asked for, and what is said where nothing can be entered."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from unit_tests.local.pods import RUNNING, Json, pod, terminated, waiting

from training_api.registry import KINDS
from training_local.cluster.connection import ClusterChoice, connect
from training_local.errors import BadInput
from training_local.run.exec import container_of, shell_command
from training_local.run.progress import JobRef, replica_of
from training_local.run.targets import PodRef

JOB = JobRef(KINDS["JAXJob"], "default", "sim")


def ref(stored: Json, job: JobRef | None = JOB) -> PodRef:
    return PodRef("default", replica_of(stored), stored, job)


@pytest.mark.parametrize(
    ("stored", "container", "sentence"),
    [
        (pod("worker-0", RUNNING), "x", r"pod default/sim-worker-0 has no container x; it has: jax"),
        (
            pod("worker-0", terminated(137), phase="Failed"),
            "",
            r"pod default/sim-worker-0 has ended with 137 SIGKILL: commands run in running containers only; "
            r"its log: training-operator local logs sim-worker-0 -n default",
        ),
        (
            pod("worker-0", waiting("CrashLoopBackOff", "back-off 10s"), last=terminated(1)),
            "",
            r"container jax of pod default/sim-worker-0 does not run: CrashLoopBackOff: back-off 10s",
        ),
        (
            pod("worker-0", phase="Pending"),
            "jax",
            r"container jax of pod default/sim-worker-0 does not run: it is being started",
        ),
    ],
)
def test_what_cannot_be_entered_is_one_sentence(stored: Json, container: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^{sentence}$"):
        container_of(ref(stored), container)


def test_the_container_that_trains_is_meant() -> None:
    stored = pod("worker-0", RUNNING)
    stored["spec"]["containers"].insert(0, {"name": "sidecar"})
    assert container_of(ref(stored), "") == "jax"


@pytest.mark.parametrize("preferred", ["/bin/sh", "/nonexistent/zsh", "", "no such"])
def test_the_shell_is_the_preferred_one_or_one_that_is_there(preferred: str, tmp_path: Path) -> None:
    command = shell_command({"SHELL": preferred, "TERM": "vt100"})
    done = subprocess.run(command, input="echo $TERM", capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("vt100\n", "")


async def test_a_cluster_is_chosen_by_name_or_by_kubeconfig() -> None:
    with pytest.raises(BadInput, match="mutually exclusive"):
        async with connect(ClusterChoice("mine", Path("kubeconfig"))):
            pass
    assert ClusterChoice("mine").searched is None
    assert ClusterChoice(kubeconfig=Path("kubeconfig")).searched == "default"
    assert ClusterChoice(kubeconfig=Path("kubeconfig"), namespace="team").searched == "team"
