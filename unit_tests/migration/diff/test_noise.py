"""What says nothing about the training is no difference."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unit_tests.migration.conversions import converted, pod, pytorch

from training_migration.convert.conversion import Conversion
from training_migration.convert.round_trip import round_trip
from training_migration.diff.model import Difference
from training_migration.findings import Severity

Json = dict[str, Any]


def job() -> Json:
    volumes = [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "b", "emptyDir": {}}]
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]
    env = [{"name": "A", "value": "1"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    resources = {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "1"}}
    command = ["torchrun", "--nproc_per_node=1", "--rdzv_endpoint=job-worker-0:23456", "--rdzv_backend=c10d", "t.py"]
    obj = pytorch(2, master=False, command=command, env=env, resources=resources, volumeMounts=mounts)
    template = obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    template |= {"volumes": volumes, "securityContext": {}, "dnsPolicy": "ClusterFirst"}
    return obj


def compared(conversion: Conversion) -> Difference:
    difference = round_trip(conversion).difference
    assert difference is not None
    return difference


def bad(difference: Difference) -> list[str]:
    return [f"{each.path}: {each.reason}" for each in difference.items() if each.severity not in (None, Severity.INFO)]


def reversed_lists(spec: Json) -> None:
    spec["volumes"].reverse()
    spec["containers"][0]["env"].reverse()
    spec["containers"][0]["volumeMounts"].reverse()


def other_quantities(spec: Json) -> None:
    spec["containers"][0]["resources"] = {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": "1000m"}}
    spec["volumes"][0]["emptyDir"]["sizeLimit"] = "1024Mi"


def defaults(spec: Json) -> None:
    del spec["securityContext"], spec["dnsPolicy"]
    spec["containers"][0] |= {"imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File", "lifecycle": {}}


def own_port(spec: Json) -> None:
    command = spec["containers"][0]["command"]
    assert command[2] == "--rdzv_endpoint=job-node-0-0.job:23456"
    command[2] = "--rdzv_endpoint=job-node-0-0.job:29500"


@pytest.mark.parametrize("change", [lambda spec: None, reversed_lists, other_quantities, defaults, own_port])
def test_it_is_no_difference(change: Any) -> None:
    conversion = copy.deepcopy(converted(job()))
    change(pod(conversion))
    assert bad(compared(conversion)) == []


def test_another_quantity_policy_or_port_of_another_host_is_one() -> None:
    conversion = copy.deepcopy(converted(job()))
    main = pod(conversion)["containers"][0]
    main["resources"]["limits"]["memory"] = "2Gi"
    main["imagePullPolicy"] = "Always"
    main["command"][2] = "--rdzv_endpoint=job-node-0-0.job:4000"
    paths = " ".join(bad(compared(conversion)))
    assert all(part in paths for part in ("limits.memory", "imagePullPolicy", "command line"))


@pytest.mark.parametrize("flag", [["--master_port=$(MASTER_PORT)"], ["--master-port", "$(MASTER_PORT)"]])
def test_the_port_that_each_side_gives_may_stand_in_a_flag(flag: list[str]) -> None:
    words = ["torchrun", "--nnodes=2", "--nproc_per_node=1", "--node_rank=$(RANK)", "--master_addr=$(MASTER_ADDR)"]
    conversion = converted(pytorch(1, command=[*words, *flag, "train.py", "--epochs=1"]))
    assert bad(compared(conversion)) == []
    pod(conversion)["containers"][0]["command"][-1] = "--epochs=2"
    assert "command line: another program, or other arguments" in bad(compared(conversion))
