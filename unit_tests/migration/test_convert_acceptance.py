"""What a converter has to get right, seen in the processes that v1 and v2 start."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unit_tests.migration.conversions import Json, converted, jax, mpi, pytorch, xgboost

from training_migration.choices import CompatEnv
from training_migration.convert.round_trip import round_trip
from training_migration.diff import diff
from training_migration.diff.model import Summary
from training_migration.render_v1 import render_v1
from training_migration.rendering import RenderedPod, Rendering
from training_migration.targets import Target
from training_migration.v1_job import v1_job
from training_migration.v2.process import environment, training_container
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock

RANKS = {
    "PyTorchJob": ("RANK", "WORLD_SIZE", "MASTER_ADDR"),
    "XGBoostJob": ("RANK", "WORLD_SIZE", "MASTER_ADDR"),
    "JAXJob": ("PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_ADDRESS"),
}


def v2(obj: Json, **options: Any) -> Rendering:
    conversion = converted(obj, **options)
    assert conversion.runtime is not None
    return render_v2(conversion.train_job, conversion.runtime, Target.V2_3)


def ranks(pods: tuple[RenderedPod, ...], kind: str) -> list[tuple[str, str, bool]]:
    """Of each pod: its rank, how many there are, and whether the address is that of the pod with rank 0."""
    rank, size, address = RANKS[kind]
    known = [environment(pod) for pod in pods]
    first = next(pod.hostname for pod, env in zip(pods, known, strict=True) if env[rank] == "0")
    return sorted((env[rank], env[size], env[address] == first) for env in known)


def naive(obj: Json) -> Rendering:
    """What the guide of v2 does: image and command on the shipped runtime."""
    container = obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    trainer = {"numNodes": 3, "image": container["image"], "command": container["command"]}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "team"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer},
    }
    return render_v2(job, stock(Target.V2_3)["torch-distributed"], Target.V2_3)


def test_a_program_without_a_launcher_has_no_rank_if_only_image_and_command_are_copied() -> None:
    assert not any("RANK" in environment(pod) or "WORLD_SIZE" in environment(pod) for pod in naive(pytorch(2)).pods)


def test_the_comparison_shows_that_every_node_would_train_alone_and_that_the_conversion_fixes_it() -> None:
    job = v1_job(pytorch(2))
    alone = diff(render_v1(job), naive(pytorch(2)), job)
    assert alone.every_node_alone
    assert alone.summary is Summary.DIFFERENT
    mended = round_trip(converted(pytorch(2))).difference
    assert mended is not None
    assert not mended.every_node_alone
    assert mended.summary is Summary.COMPAT


@pytest.mark.parametrize("obj", [pytorch(2), jax(3), xgboost({"Master": 1, "Worker": 2})], ids=RANKS)
def test_converted_pods_have_the_same_variables_as_in_v1(obj: Json) -> None:
    of_v1 = render_v1(v1_job(obj)).pods
    expected = [(str(rank), "3", True) for rank in range(3)]
    assert ranks(of_v1, obj["kind"]) == ranks(v2(obj).pods, obj["kind"]) == expected


@pytest.mark.parametrize("kind", ["PyTorchJob", "XGBoostJob"])
def test_so_are_those_of_two_groups(kind: str) -> None:
    obj = pytorch(2) if kind == "PyTorchJob" else xgboost({"Master": 1, "Worker": 2})
    field = "pytorchReplicaSpecs" if kind == "PyTorchJob" else "xgbReplicaSpecs"
    obj["spec"][field]["Master"]["template"]["spec"]["containers"][0]["image"] = "another"
    assert ranks(v2(obj).pods, kind) == [(str(rank), "3", True) for rank in range(3)]


def test_torchrun_gets_what_it_needs_without_v1s_variables() -> None:
    pods = v2(pytorch(2, command=["torchrun", "t.py"]), compat_env=CompatEnv.NEVER).pods
    known = [environment(pod) for pod in pods]
    assert [(env["PET_NODE_RANK"], env["PET_NNODES"]) for env in known] == [("0", "3"), ("1", "3"), ("2", "3")]
    assert {env["PET_MASTER_ADDR"] for env in known} == {pods[0].hostname}


def test_a_port_without_a_name_would_be_lost() -> None:
    obj = jax(ports=[{"containerPort": 8080}])
    conversion = converted(obj)
    assert conversion.runtime is not None
    unnamed = copy.deepcopy(conversion.runtime)
    replicated = unnamed["spec"]["template"]["spec"]["replicatedJobs"][0]
    del replicated["template"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["name"]

    def numbers(runtime: Json) -> list[int]:
        pod = render_v2(conversion.train_job, runtime, Target.V2_3).pods[0]
        return [port["containerPort"] for port in training_container(pod)["ports"]]

    assert numbers(unnamed) == [29500]
    assert numbers(conversion.runtime) == [8080, 29500]


def test_the_policy_of_mpi_says_one_node_or_there_would_be_two_launchers() -> None:
    conversion = converted(mpi(2))
    assert conversion.runtime is not None
    more = copy.deepcopy(conversion.runtime)
    more["spec"]["mlPolicy"]["numNodes"] = 2

    def launchers(runtime: Json) -> int:
        return sum(pod.role == "launcher" for pod in render_v2(conversion.train_job, runtime, Target.V2_3).pods)

    assert launchers(more) == 2
    assert launchers(conversion.runtime) == 1


def test_without_a_trainer_nothing_would_be_injected() -> None:
    conversion = converted(pytorch(2))
    assert conversion.runtime is not None
    bare = copy.deepcopy(conversion.train_job)
    del bare["spec"]["trainer"]
    assert not any(
        name.startswith("PET_") for name in environment(render_v2(bare, conversion.runtime, Target.V2_3).pods[0])
    )
    assert "PET_NNODES" in environment(v2(pytorch(2)).pods[0])


def test_a_slice_of_a_gpu_counts_as_a_device() -> None:
    resources = {"limits": {"nvidia.com/mig-1g.5gb": 1, "cpu": 8}}
    pods = v2(pytorch(1, command=["torchrun", "t.py"], resources=resources)).pods
    assert {environment(pod)["PET_NPROC_PER_NODE"] for pod in pods} == {"1"}
