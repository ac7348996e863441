"""A kind of another package, one module of fewer than 60 lines: `examples/plugin-deepspeed`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from e2e.support.every_kind import DEEPSPEED, PLUGIN
from unit_tests.controllers.builders import World, conditions, make_job, message, world

from training_api.crd.build import build
from training_api.kinds import Job
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec
from training_controllers.reconcile.builders import build_pod
from training_local.apiserver.crd import crd_types

KIND = "DeepSpeedJob"


@pytest.fixture
def job() -> World:
    w = world(KIND, {"Launcher": 1, "Worker": 2}, slotsPerWorker=4).settle()
    return w


def test_it_is_one_short_module() -> None:
    assert len((PLUGIN / "training_operator_deepspeed.py").read_text().splitlines()) < 60


def test_the_launcher_decides(job: World) -> None:
    assert sorted(job.pods) == sorted(job.services) == ["sim-launcher-0", "sim-worker-0", "sim-worker-1"]
    job.set_pods("Running")
    job.step()
    assert conditions(job.status) == ["Created=True", "Running=True"]
    job.set_pods("Succeeded", "sim-launcher-0", exit_code=0)
    job.step()
    assert conditions(job.status)[-1] == "Succeeded=True"


@pytest.mark.parametrize("name", ["sim-launcher-0", "sim-worker-1"])
def test_whoever_fails_fails_the_job(job: World, name: str) -> None:
    job.set_pods("Running")
    job.set_pods("Failed", name, exit_code=1)
    job.step()
    assert f"Pod {name}: container deepspeed exited with code 1" in message(job.status, "Failed")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("volumes"), "KeyError: 'volumes' (test_plugin_kind.py:"),
        (ValueError("\x1b[2J\n" + "x" * 5000), "ValueError: "),
    ],
)
def test_an_exception_in_it_is_the_reason_why_there_is_no_pod(error: Exception, said: str) -> None:
    def configure_pod(_job: Job, _slot: Slot, _spec: PodSpec) -> PodSpec:
        raise error

    with pytest.raises(CannotBuild) as raised:
        broken = replace(DEEPSPEED, configure_pod=configure_pod)
        build_pod(make_job(KIND, {"Launcher": 1, "Worker": 2}), broken, NewPod(Slot("Worker", 0)))
    text = str(raised.value)
    assert text.startswith(f"configure_pod of the framework for DeepSpeedJob failed with {said}")
    assert len(text) < 500
    assert text.isprintable()


def test_its_pods_have_the_hostfile_and_know_the_launcher(job: World) -> None:
    made = job.bodies["ConfigMap", "sim-hostfile"]
    assert made["data"] == {"hostfile": "sim-worker-0 slots=4\nsim-worker-1 slots=4\n"}
    assert made["metadata"]["labels"] == {"app": "sim"}  # else the operator would never see it
    for slot in (Slot("Launcher", 0), Slot("Worker", 1)):
        spec = build_pod(make_job(KIND, {"Launcher": 1, "Worker": 2}), job.framework, NewPod(slot))["spec"]
        assert spec["volumes"] == [{"name": "hostfile", "configMap": {"name": "sim-hostfile"}}]
        container = spec["containers"][0]
        assert container["volumeMounts"] == [{"name": "hostfile", "mountPath": "/job"}]
        assert {each["name"]: each["value"] for each in container["env"]} == {
            "MASTER_ADDR": "sim-launcher-0",
            "MASTER_PORT": "29500",
        }


def test_the_hostfile_follows_the_workers(job: World) -> None:
    specs: dict[str, Any] = json.loads(json.dumps(job.stored["spec"]["deepspeedReplicaSpecs"]))
    specs["Worker"]["replicas"] = 3
    job.patch(deepspeedReplicaSpecs=specs)
    job.settle()
    assert job.bodies["ConfigMap", "sim-hostfile"]["data"]["hostfile"].splitlines()[-1] == "sim-worker-2 slots=4"


def test_it_has_a_crd_that_an_api_server_takes() -> None:
    (served,) = crd_types(build(DEEPSPEED.info))
    assert (served.kind, served.scale) == (KIND, None)
