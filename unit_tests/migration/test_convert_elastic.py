"""Elastic jobs by what they do: those of a fixed size move as they are, the others with what is to be done."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.conversions import converted, pytorch, rules

from training_migration.convert.conversion import Conversion
from training_migration.exits import Exit, of_findings
from training_migration.findings import Finding, Severity, Verdict

Json = dict[str, Any]
CPU = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]
GPU = {"limits": {"nvidia.com/gpu": 8}}


def elastic(*words: str, low: int = 1, high: int = 64, metrics: bool = False, **container: Any) -> Conversion:
    obj = pytorch(2, master=False, command=list(words), resources=GPU, **container)
    obj["spec"]["elasticPolicy"] = {"minReplicas": low, "maxReplicas": high, "rdzvBackend": "c10d"}
    if metrics:
        obj["spec"]["elasticPolicy"]["metrics"] = CPU
    return converted(obj)


def finding(conversion: Conversion) -> Finding:
    [finding] = [each for each in conversion.findings if each.rule.id == "MIG203"]
    return finding


@pytest.mark.parametrize(
    "words",
    [
        ["torchrun", "--nproc_per_node=8", "--nnodes=2", "train.py"],
        ["torchrun", "--nnodes", "2", "train.py"],
        ["torchrun", "--nnodes=2:2", "train.py"],
        ["bash", "-c", "prepare; torchrun --nproc_per_node=8 --nnodes=2 train.py"],
        ["bash", "/profile.sh", "--", "/usr/bin/torchrun", "--nnodes=2", "train.py"],
        ["bash", "-c", "torchrun \\\n --nnodes=$NODES \\\n train.py"],
        ["bash", "-c", "torchrun --nnodes=${NODES:-2} train.py"],
        ["accelerate", "launch", "--num_machines=2", "train.py"],
        ["composer", "--world_size", "16", "train.py"],
    ],
)
def test_a_command_that_names_the_number_of_nodes_is_not_elastic(words: list[str]) -> None:
    conversion = elastic(*words, env=[{"name": "NODES", "value": "2"}])
    assert finding(conversion).level is Severity.INFO
    assert "not elastic in practice" in finding(conversion).message
    assert conversion.verdict in (Verdict.EXACT, Verdict.EQUIVALENT)


def test_bounds_that_are_equal_are_not_elastic() -> None:
    conversion = elastic("torchrun", "train.py", low=2, high=2)
    assert (finding(conversion).level, conversion.verdict) == (Severity.INFO, Verdict.EXACT)


def test_an_autoscaler_that_is_left_out_is_reported() -> None:
    conversion = elastic("torchrun", "--nnodes=2", "train.py", metrics=True)
    assert (finding(conversion).level, conversion.verdict) == (Severity.WARNING, Verdict.EQUIVALENT)


@pytest.mark.parametrize(
    "words",
    [
        ["torchrun", "train.py"],
        ["torchrun", "--nnodes=1:4", "train.py"],
        ["bash", "-c", "torchrun --nnodes=$PET_NNODES train.py"],
        ["./start"],
    ],
)
def test_one_that_changes_its_size_needs_work_with_the_steps(words: list[str]) -> None:
    conversion = elastic(*words, metrics=True)
    assert conversion.verdict is Verdict.NEEDS_WORK
    assert "trainer.numNodes; write --nnodes=1:2 behind torchrun" in finding(conversion).message
    assert "delete the TrainJob and create it again" in finding(conversion).message
    assert of_findings(conversion.findings, None, strict=True) is Exit.NO_COUNTERPART


def test_a_command_that_waits_for_other_nodes_than_there_are_needs_work() -> None:
    conversion = elastic("torchrun", "--nnodes=3", "train.py")
    assert finding(conversion).message.startswith("the command says --nnodes=3, but the job has 2")
    assert conversion.verdict is Verdict.NEEDS_WORK


@pytest.mark.parametrize(
    ("words", "is_noted"),
    [
        (["torchrun", "--nnodes=2", "train.py"], True),
        (["torchrun", "--nnodes=2", "--rdzv_backend=c10d", "--rdzv-endpoint=job-worker-0:29400", "train.py"], False),
    ],
)
def test_what_v2_sets_for_nodes_matters_where_they_do_not_meet_by_themselves(words: list[str], is_noted: bool) -> None:
    assert ("MIG108" in rules(converted(pytorch(2, master=False, command=words)))) is is_noted
    assert "MIG108" not in rules(elastic(*words))


def test_the_number_of_processes_may_stand_in_the_command() -> None:
    conversion = converted(pytorch(1, command=["torchrun", "--nproc-per-node=4", "train.py"]))
    assert "MIG109" not in rules(conversion)
    assert conversion.verdict is Verdict.EXACT
