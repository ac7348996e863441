"""A seventh kind needs a spec, a declaration and a few pure functions: here, Ray-like jobs with a head and workers."""

from __future__ import annotations

from pydantic import Field
from unit_tests.controllers.builders import World, conditions

from training_api.crd.build import build
from training_api.kinds import Job, KindInfo
from training_api.models.common import JobSpec, ReplicaSpecs, RestartPolicy
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses
from training_controllers.frameworks.rules import failed_replicas, master_decides, until_the_end
from training_controllers.model.names import replica_name
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import PodSpec, env, with_env
from training_controllers.reconcile.builders import build_pod
from training_local.apiserver.crd import crd_types


# What a seventh kind takes, from here ...
class RayJobSpec(JobSpec):
    """What a RayJob runs: a head and workers."""

    replica_specs: ReplicaSpecs = Field(alias="rayReplicaSpecs")
    """The replicas by type: Head and Worker."""


RAY = KindInfo(
    kind="RayJob",
    plural="rayjobs",
    short_names=("rayj",),
    spec=RayJobSpec,
    replica_field="rayReplicaSpecs",
    replica_types=("Head", "Worker"),
    container="ray",
    port_name="rayjob-port",
    port=6379,
    restart_policy=RestartPolicy.ON_FAILURE,
    scalable=True,
    metrics_label="ray",
    required_types=("Head",),
    single_types=("Head",),
)


def ray() -> Framework:
    return Framework(RAY, judge, configure_pod, is_master=lambda _job, slot: slot.replica_type == "Head")


def configure_pod(job: Job, _slot: Slot, spec: PodSpec) -> PodSpec:
    return with_env(spec, [env("RAY_ADDRESS", f"{replica_name(job, Slot('Head', 0))}:{RAY.port}")])


def judge(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    verdicts = [master_decides(job, "Head", statuses["Head"])]
    verdicts += [failed_replicas(job, name, status) for name, status in statuses.items()]
    return until_the_end(verdict for each in verdicts for verdict in each)


# ... to here: 40 lines.


def stored() -> dict[str, object]:
    container = {"name": "ray", "image": "trainer:1"}
    specs = {name: {"replicas": n, "template": {"spec": {"containers": [container]}}} for name, n in ROLES.items()}
    return {
        "metadata": {"name": "sim", "namespace": "ns", "uid": "uid-of-job", "generation": 1},
        "spec": {"rayReplicaSpecs": specs},
    }


ROLES = {"Head": 1, "Worker": 2}


def test_its_jobs_run_restart_and_succeed() -> None:
    w = World(stored(), "RayJob", own_framework=ray())
    w.settle()
    assert list(w.pods) == ["sim-head-0", "sim-worker-0", "sim-worker-1"]
    assert list(w.services) == list(w.pods)
    w.set_pods("Running")
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    w.settle()
    assert w.status.replica_statuses["Worker"].restarts == 1
    w.set_pods("Running")
    w.step()
    assert conditions(w.status) == ["Created=True", "Running=True"]
    w.set_pods("Succeeded", "sim-head-0", exit_code=0)
    w.step()
    assert conditions(w.status)[-1] == "Succeeded=True"


def test_its_pods_know_where_to_meet() -> None:
    w = World(stored(), "RayJob", own_framework=ray())
    pod = build_pod(w.snapshot().job, ray(), NewPod(Slot("Worker", 1)))
    assert pod["spec"]["containers"][0]["env"] == [{"name": "RAY_ADDRESS", "value": "sim-head-0:6379"}]
    assert pod["spec"]["containers"][0]["ports"] == [{"name": "rayjob-port", "containerPort": 6379}]


def test_it_has_a_crd_that_an_api_server_takes() -> None:
    (served,) = crd_types(build(RAY))
    assert (served.kind, served.scale is not None) == ("RayJob", True)
