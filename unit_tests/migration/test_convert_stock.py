"""Jobs on the runtimes that v2 ships, where nothing is lost by it."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.conversions import Json, converted, jax, rules

from training_migration.convert.conversion import Conversion
from training_migration.targets import Target
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock


def portable(**fields: Any) -> Json:
    """A job all of which a TrainJob can say."""
    obj = jax(3, **{"resources": {"limits": {"cpu": 2}}, "env": [{"name": "A", "value": "b"}], **fields})
    worker = obj["spec"]["jaxReplicaSpecs"]["Worker"]
    worker["restartPolicy"] = "OnFailure"
    obj["spec"]["runPolicy"] = {"backoffLimit": 6}
    obj["metadata"]["namespace"] = "team"
    return obj


def pods(conversion: Conversion) -> list[Json]:
    runtime = conversion.runtime or stock(Target.V2_3)["jax-distributed"]
    return [each.pod["spec"] for each in render_v2(conversion.train_job, runtime, Target.V2_3).pods]


def by_name(pod: Json) -> Json:
    """The pod with its variables in no order."""
    main = pod["containers"][0]
    return {**pod, "containers": [{**main, "env": sorted(main["env"], key=lambda each: str(each["name"]))}]}


def test_the_pods_are_those_of_the_runtime_of_its_own() -> None:
    obj = portable(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    template = obj["spec"]["jaxReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"team": "a"}}
    template["spec"] |= {"volumes": [{"name": "data", "emptyDir": {}}], "nodeSelector": {"zone": "b"}}
    own, shipped = converted(obj), converted(obj, stock=True)
    assert shipped.runtime is None
    assert shipped.train_job["spec"]["runtimeRef"] == {"kind": "ClusterTrainingRuntime", "name": "jax-distributed"}
    assert [by_name(each) for each in pods(shipped)] == [by_name(each) for each in pods(own)]


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"backoffLimit": 3}, "3 restarts"),
        ({"backoffLimit": 6, "schedulingPolicy": {"queue": "gold"}}, "pod group"),
    ],
)
def test_a_run_policy_that_the_shipped_runtime_does_not_have(change: Json, lost: str) -> None:
    obj = portable()
    obj["spec"]["runPolicy"] = change
    conversion = converted(obj, stock=True)
    assert conversion.runtime is not None
    assert lost in next(each.message for each in conversion.findings if each.rule.id == "MIG008")


@pytest.mark.parametrize(
    "fields",
    [
        {"ports": [{"name": "a", "containerPort": 1}]},
        {"livenessProbe": {"tcpSocket": {"port": 1}}},
        {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
    ],
)
def test_a_container_that_no_patch_can_make(fields: Json) -> None:
    conversion = converted(portable(**fields), stock=True)
    assert conversion.runtime is not None
    assert f"{next(iter(fields))} of the container" in str(conversion.findings)


def test_another_restart_policy_needs_a_runtime_of_its_own() -> None:
    obj = portable()
    obj["spec"]["jaxReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"
    assert rules(converted(obj, stock=True))["MIG008"]


def test_a_target_without_patches_or_without_the_runtime_needs_one_of_its_own() -> None:
    assert converted(portable(), Target.V2_1, stock=True).runtime is not None
