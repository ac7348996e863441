"""What the SDK `kubeflow-training` 1.9.4 sends, what becomes of it, and what users read when it cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from e2e.clients.session import Seen, session
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator

TORCH = {"PYTHONUNBUFFERED": "1", "MASTER_PORT": "23456", "PET_MASTER_PORT": "23456"}


@pytest.fixture(scope="module")
def seen(cluster: Cluster, operator: Operator) -> Iterator[Seen]:
    yield session("sdk_requests", cluster.kubeconfig)
    operator.child.check_alive()


REJECTIONS = {
    "unknown kind": ("ValueError", "Job kind must be one of these"),
    "unknown kind of a job": ("ValueError", "Job kind must be one of these"),
    "unknown manager": (
        "RuntimeError",
        "Failed to create PyTorchJob: sdk-requests-rejections/bad. Error: (422)",
        "spec.runPolicy.managedBy: Unsupported value",
    ),
    "other manager": ("RuntimeError", "spec.runPolicy.managedBy: Forbidden: field is immutable"),
    "bad replica type": ("RuntimeError", 'unsupported replica type \\"worker-1\\"'),
    "twice": ("RuntimeError", "already exists"),
    "absent": ("RuntimeError", "(404)"),
    "absent update": ("RuntimeError", "(404)"),
    "absent delete": ("RuntimeError", "(404)"),
    "object and function": ("ValueError", "Argument `train_func` must be None"),
    "kind without functions": ("ValueError", "JAXJob can't be created using function"),
    "nameless": ("ValueError", "Job name must be set"),
    "replica type of pods": ("ValueError", "replica type must be one of"),
    "object of another kind": ("ValueError", "Job must be one of these types"),
}


@pytest.mark.shows("SDK-1.9", "SDK-4.1", "SDK-4.2", "SDK-4.3", "SDK-4.5", "SDK-4.7", "SDK-4.14", "SDK-4.15")
@pytest.mark.shows("SDK-5.5.1", "SDK-5.5.2", "SDK-S4")
@pytest.mark.parametrize("case", REJECTIONS)
def test_rejections(seen: Seen, case: str) -> None:
    sentence, (kind, *words) = seen("rejections")[case], REJECTIONS[case]
    assert sentence.startswith(f"{kind}: ")
    assert [each for each in words if each not in sentence] == []


@pytest.mark.shows("SDK-9.5")
def test_part_of_a_replica_type(seen: Seen) -> None:
    """The SDK lets it pass, and no pod has such a label."""
    assert seen("rejections")["part of a replica type"] == "[]"


@pytest.mark.shows("SDK-9.6")
def test_labels_beside_an_object(seen: Seen) -> None:
    """The SDK drops them."""
    assert seen("rejections")["labels beside an object"] == "None"


@pytest.mark.shows("SDK-5.3.7", "SDK-S4")
def test_a_job_of_another_manager_is_ignored(seen: Seen) -> None:
    """No condition, no pod."""
    assert seen("left-alone") == {"conditions": [], "pods": []}


@pytest.mark.shows("SDK-1.6", "SDK-4.3", "SDK-5.5.3", "SDK-6.0")
def test_a_pytorchjob_from_a_function(seen: Seen) -> None:
    """The body, with resources as numbers."""
    told = seen("bodies")["full"]
    specs = told["spec"]["pytorchReplicaSpecs"]
    assert {name: each["replicas"] for name, each in specs.items()} == {"Master": 1, "Worker": 2}
    assert told["spec"]["nprocPerNode"] == "2"
    assert told["spec"]["runPolicy"] == {"suspend": False}
    assert told["metadata"] == {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    main = specs["Worker"]["template"]["spec"]["containers"][0]
    assert main["resources"]["limits"] == {"cpu": 2, "memory": "1Gi", "nvidia.com/gpu": 0}
    assert main["args"][0].endswith('\ntorchrun "$program_path/ephemeral_script.py"')
    for pod in told["pods"].values():
        assert pod["annotations"] == {"sidecar.istio.io/inject": "false"}
        assert pod["limits"] == {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "0"}
        assert (pod["command"], pod["mounts"]) == (["bash", "-c"], ["/data"])


@pytest.mark.shows("SDK-6.1", "SDK-6.2", "SDK-6.3", "SDK-6.4")
def test_what_the_operator_adds_to_it(seen: Seen) -> None:
    """Defaults, all that `torchrun` asks for, and the name of the master."""
    told = seen("bodies")["full"]
    for rank, (name, pod) in enumerate(told["pods"].items()):
        assert (pod["restart"], pod["ports"]) == ("OnFailure", [["pytorchjob-port", 23456]])
        assert pod["env"] == TORCH | {
            "EXTRA": "1",
            "MASTER_ADDR": "full-master-0",
            "PET_MASTER_ADDR": "full-master-0",
            "WORLD_SIZE": "6",
            "RANK": str(rank),
            "PET_NODE_RANK": str(rank),
            "PET_NPROC_PER_NODE": "2",
            "PET_NNODES": "3",
        }
        assert pod["init"] == ([] if name == "full-master-0" else ["init-pytorch"])
    assert told["services"] == dict.fromkeys(told["pods"], True)


@pytest.mark.shows("SDK-6.0", "SDK-6.5")
def test_a_master_alone(seen: Seen) -> None:
    """One replica from an image; the number of processes is v1's default."""
    told = seen("bodies")["image"]
    assert list(told["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    assert "nprocPerNode" not in told["spec"]
    environment = told["pods"]["image-master-0"]["env"]
    asked = ("WORLD_SIZE", "RANK", "PET_NNODES", "PET_NPROC_PER_NODE")
    assert [environment[each] for each in asked] == ["1", "0", "1", "auto"]


@pytest.mark.shows("SDK-6.0", "SDK-6.1")
def test_a_tfjob_from_a_function(seen: Seen) -> None:
    """TF_CONFIG where the job is distributed, and not where it is not."""
    told = seen("bodies")["tf"]
    assert {name: each["replicas"] for name, each in told["spec"]["tfReplicaSpecs"].items()} == {
        "Chief": 1,
        "Worker": 2,
    }
    for pod in told["pods"].values():
        assert (pod["restart"], pod["ports"]) == ("Never", [["tfjob-port", 2222]])
        assert list(pod["env"]) == ["TF_CONFIG"]
    assert seen("bodies")["tf-alone"]["pods"]["tf-alone-worker-0"]["env"] == {}


def _container(template: dict[str, Any], name: str) -> dict[str, Any]:
    spec = template["template"]["spec"]
    return next(each for each in (*spec.get("initContainers", ()), *spec["containers"]) if each["name"] == name)


@pytest.mark.shows("SDK-A10", "SDK-4.4", "SDK-7.1", "SDK-7.2", "SDK-7.3", "SDK-7.5", "SDK-7.6")
def test_train(seen: Seen) -> None:
    """A claim, and a job whose master fills it."""
    told = seen("train")
    assert told["claim"] == {"modes": ["ReadWriteOnce", "ReadOnlyMany"], "size": "10Gi", "owners": None}
    specs = told["spec"]["pytorchReplicaSpecs"]
    claim = [{"name": "storage-initializer", "persistentVolumeClaim": {"claimName": "tuned"}}]
    assert [specs[each]["template"]["spec"]["volumes"] for each in ("Master", "Worker")] == [claim, claim]
    assert "--model_uri" in _container(specs["Worker"], "pytorch")["args"]
    assert "--dataset_provider_parameters" in _container(specs["Master"], "storage-initializer")["args"]

    master, worker = told["pods"]["tuned-master-0"], told["pods"]["tuned-worker-0"]
    assert (master["init"], worker["init"]) == (["storage-initializer"], ["init-pytorch"])
    assert (master["mounts"], worker["mounts"]) == (["/workspace"], ["/workspace"])
    # The image has its own entrypoint, `torchrun` without flags.
    assert (master["command"], worker["command"]) == (None, None)
    asked = ("PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_MASTER_ADDR")
    assert [worker["env"][each] for each in asked] == ["2", "1", "1", "tuned-master-0"]
    # The name of a master that is not ready yet stays unknown, and a worker waits for the name.
    assert told["services"] == {"tuned-master-0": None, "tuned-worker-0": True}


@pytest.mark.shows("SDK-A11", "SDK-7.1")
def test_train_again(seen: Seen) -> None:
    """The claim outlives the job and is used again."""
    assert seen("train")["again"] == 2


@pytest.mark.shows("SDK-1.11", "SDK-4.1")
def test_constructors(seen: Seen) -> None:
    """By file, by context, by configuration, with and without a namespace."""
    told = seen("constructors")
    for way in ("file", "context", "configuration", "another namespace"):
        assert told[way] == ["here"]
    assert (told["default namespace"], told["default kind"]) == ("default", "PyTorchJob")
    assert told["no such context"].startswith("ConfigException: ")
