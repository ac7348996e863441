"""What PodGroups say and pods carry, per scheduler, kind and case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from e2e.support.every_kind import EVERY_KIND, every_framework
from unit_tests.controllers.builders import stored_job

from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_controllers.decide.pod_events import foreign_schedulers
from training_controllers.decide.pod_group import pod_group
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.resources import pod_requests
from training_controllers.gang.schedulers import VOLCANO, gang_scheduler
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_owned_object, build_pod

COSCHEDULER = "scheduler-plugins-scheduler"

ALL_TYPES: Mapping[str, Mapping[str, int]] = {
    **{kind: dict.fromkeys(info.replica_types, 1) for kind, info in EVERY_KIND.items()},
    "PyTorchJob": {"Master": 1, "Worker": 2},
    "TFJob": {"Chief": 1, "PS": 2, "Worker": 3, "Evaluator": 1},
    "XGBoostJob": {"Master": 1, "Worker": 3},
    "MPIJob": {"Launcher": 1, "Worker": 2},
    "PaddleJob": {"Master": 1, "Worker": 2},
    "JAXJob": {"Worker": 4},
}
"""The types of each kind, and how many replicas they have here."""


def framework(kind: str, scheduler: str) -> Framework:
    return every_framework(FrameworkOptions(gang=gang_scheduler(scheduler)))[kind]


def requesting(job: dict[str, Any], replica_type: str, *resources: Mapping[str, Any], **pod: Any) -> None:
    """Give the replicas of a type one container for each of `resources`, and fields of their pods."""
    info = EVERY_KIND[job["kind"]]
    containers = [
        {"name": info.container if not number else f"c{number}", "image": "i", "resources": each}
        for number, each in enumerate(resources)
    ]
    job["spec"][info.replica_field][replica_type]["template"] = {"spec": {"containers": containers, **pod}}


def stored(kind: str, replicas: Mapping[str, int] | None = None, **options: Any) -> dict[str, Any]:
    return stored_job(kind, replicas or ALL_TYPES[kind], **options) | {"kind": kind}


def decoded(job: dict[str, Any]) -> Job:
    return with_defaults(decode_job(EVERY_KIND[job["kind"]], job))


def group_of(job: dict[str, Any], scheduler: str = "volcano", **options: Any) -> dict[str, Any]:
    """The PodGroup of a job as it is sent, at first."""
    made, chosen = decoded(job), gang_scheduler(scheduler)
    assert chosen is not None
    pods = {name: spec.replicas or 0 for name, spec in made.replicas.items()}
    wanted = pod_group(made, framework(job["kind"], scheduler), chosen, pods, **options)
    assert wanted is not None
    return build_owned_object(made, wanted, bytes)


def spec_of(job: dict[str, Any], scheduler: str = "volcano", **options: Any) -> dict[str, Any]:
    spec: dict[str, Any] = group_of(job, scheduler, **options)["spec"]
    return spec


def pod_of(job: dict[str, Any], scheduler: str, slot: Slot) -> dict[str, Any]:
    return build_pod(decoded(job), framework(job["kind"], scheduler), NewPod(slot))


@pytest.mark.shows("INT-059")
@pytest.mark.parametrize(
    ("flag", "name", "api"),
    [
        ("volcano", "volcano", "scheduling.volcano.sh/v1beta1"),
        ("Volcano", "volcano", "scheduling.volcano.sh/v1beta1"),
        (COSCHEDULER, COSCHEDULER, "scheduling.x-k8s.io/v1alpha1"),
        ("my-scheduler", "my-scheduler", "scheduling.x-k8s.io/v1alpha1"),
        ("kai-scheduler", "kai-scheduler", None),
        ("yunikorn", "yunikorn", None),
        ("default-scheduler", "default-scheduler", None),
    ],
)
def test_the_flag_chooses_the_scheduler_and_the_api(flag: str, name: str, api: str | None) -> None:
    chosen = gang_scheduler(flag)
    assert chosen is not None
    assert (chosen.name, chosen.pod_group and chosen.pod_group.api_version) == (name, api)


@pytest.mark.shows("K-49")
@pytest.mark.parametrize("flag", ["", "none", "None", "NONE"])
def test_nobody_is_asked_for(flag: str) -> None:
    assert gang_scheduler(flag) is None


@pytest.mark.shows("E-120", "INT-061")
@pytest.mark.parametrize("scheduler", ["volcano", COSCHEDULER])
@pytest.mark.parametrize("kind", ALL_TYPES)
def test_a_pod_group_is_named_after_its_job_and_controlled_by_it(kind: str, scheduler: str) -> None:
    job = stored(kind)
    job["metadata"]["annotations"] = {"team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    made = group_of(job, scheduler)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": "sim", "uid": "uid-of-job"}
    assert made["metadata"] == {
        "name": "sim",
        "namespace": "ns",
        "annotations": {"team": "a"},
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }


# By hand: every regular container requests 1 cpu and 2Gi. Where v1 adds a container that waits, it is smaller than the
# regular one and runs before it; only the launcher's asks for something else: 5Gi of ephemeral storage.
COMPUTED = {
    "PyTorchJob": (3, {"cpu": "3", "memory": "6Gi"}),
    "TFJob": (7, {"cpu": "7", "memory": "14Gi"}),
    "XGBoostJob": (4, {"cpu": "4", "memory": "8Gi"}),
    "MPIJob": (3, {"cpu": "3", "memory": "6Gi", "ephemeral-storage": "5Gi"}),
    "PaddleJob": (3, {"cpu": "3", "memory": "6Gi"}),
    "JAXJob": (4, {"cpu": "4", "memory": "8Gi"}),
}


@pytest.mark.shows("E-121", "E-122", "E-124", "INT-062")
@pytest.mark.parametrize("kind", COMPUTED)
def test_the_pod_group_for_volcano_without_a_policy(kind: str) -> None:
    job = stored(kind)
    for replica_type in ALL_TYPES[kind]:
        requesting(job, replica_type, {"requests": {"cpu": "1", "memory": "2Gi"}})
    members, resources = COMPUTED[kind]
    assert spec_of(job) == {"minMember": members, "queue": "default", "minResources": resources}
    assert spec_of(job, COSCHEDULER) == {"minMember": members, "minResources": resources}


POLICY = {
    "minAvailable": 2,
    "queue": "research",
    "priorityClass": "high",
    "scheduleTimeoutSeconds": 30,
    "minResources": {"cpu": 4, "memory": "1024Mi", "nvidia.com/gpu": "2"},
}


@pytest.mark.shows("E-123", "INT-064", "INT-081")
@pytest.mark.parametrize("kind", ALL_TYPES)
def test_what_the_policy_says_is_copied_where_it_has_a_place(kind: str) -> None:
    job = stored(kind, run_policy={"schedulingPolicy": POLICY})
    resources = {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert spec_of(job) == {
        "minMember": 2,
        "queue": "research",
        "priorityClassName": "high",
        "minResources": resources,
    }
    assert spec_of(job, COSCHEDULER) == {
        "minMember": 2,
        "minResources": resources,
        "scheduleTimeoutSeconds": 30,
    }


@pytest.mark.shows("E-122", "INT-063")
def test_the_queue_that_a_pod_group_is_in_is_kept() -> None:
    job = stored("JAXJob", run_policy={"schedulingPolicy": {"queue": "research"}})
    assert spec_of(job, stored={"queue": "by-the-webhook"})["queue"] == "by-the-webhook"
    assert spec_of(job, stored={"queue": ""})["queue"] == "research"
    assert spec_of(stored("JAXJob"), stored={})["queue"] == "default"


@pytest.mark.shows("INT-064")
def test_nothing_requested_is_an_empty_map() -> None:
    assert spec_of(stored("JAXJob"))["minResources"] == {}
    assert spec_of(stored("JAXJob"), COSCHEDULER) == {"minMember": 4, "minResources": {}}


def test_a_quantity_that_makes_no_sense_is_left_to_the_api_server() -> None:
    job = stored("JAXJob", run_policy={"schedulingPolicy": {"minResources": {"cpu": "lots"}}})
    assert spec_of(job)["minResources"] == {"cpu": "lots"}
    job = stored("JAXJob")
    requesting(job, "Worker", {"requests": {"cpu": "lots", "memory": "1Gi"}})
    assert spec_of(job)["minResources"] == {"memory": "4Gi"}


def mixed(**policy: Any) -> dict[str, Any]:
    """A Master with 1 cpu, and three Workers with 4 cpus and a GPU each, of a class of their own.

    Workers also take 10Mi of memory, because the container that waits for the master does.
    """
    job = stored("PyTorchJob", {"Master": 1, "Worker": 3}, run_policy={"schedulingPolicy": policy})
    requesting(job, "Master", {"requests": {"cpu": "1"}}, priorityClassName="low")
    requesting(job, "Worker", {"requests": {"cpu": "4"}, "limits": {"nvidia.com/gpu": 1}}, priorityClassName="high")
    return job


@pytest.mark.shows("K-11", "INT-065")
@pytest.mark.parametrize(
    ("members", "priorities", "resources"),
    [
        # Without priorities as declared: the Master comes first.
        (2, {}, {"cpu": "5", "memory": "10Mi", "nvidia.com/gpu": "1"}),
        (1, {}, {"cpu": "1"}),
        # The Workers are more urgent: they come first.
        (2, {"low": 1, "high": 10}, {"cpu": "8", "memory": "20Mi", "nvidia.com/gpu": "2"}),
        (4, {"low": 1, "high": 10}, {"cpu": "13", "memory": "30Mi", "nvidia.com/gpu": "3"}),
        (2, {"low": 10, "high": 1}, {"cpu": "5", "memory": "10Mi", "nvidia.com/gpu": "1"}),
        (1, {"high": 1}, {"cpu": "4", "memory": "10Mi", "nvidia.com/gpu": "1"}),
        (2, {"low": -5}, {"cpu": "8", "memory": "20Mi", "nvidia.com/gpu": "2"}),
        # More members than pods: everything.
        (10, {}, {"cpu": "13", "memory": "30Mi", "nvidia.com/gpu": "3"}),
        (0, {}, {}),
        (-1, {}, {}),
    ],
)
def test_the_most_urgent_types_come_first_and_equal_ones_as_declared(
    members: int, priorities: dict[str, int], resources: dict[str, str]
) -> None:
    assert spec_of(mixed(minAvailable=members), priorities=priorities)["minResources"] == resources


def test_the_class_of_pods_without_one_counts() -> None:
    job = mixed(minAvailable=1)
    del job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["priorityClassName"]
    assert spec_of(job, priorities={"high": 10, "": 20})["minResources"] == {"cpu": "1"}


def test_the_least_min_member_that_each_api_takes() -> None:
    assert spec_of(mixed(minAvailable=-1))["minMember"] == 0
    assert spec_of(mixed(minAvailable=0), COSCHEDULER)["minMember"] == 1


@pytest.mark.shows("K-43")
@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        # K-43: a limit stands in for a request that is absent, resource by resource.
        (
            {"containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": 8}}}]},
            {"cpu": "1", "nvidia.com/gpu": "8"},
        ),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}, {}]}, {"cpu": "2"}),
        ({"containers": [{"resources": None}]}, {}),
        ({}, {}),
        # Init containers run before: the largest counts, if it is larger than all that follows.
        (
            {
                "initContainers": [
                    {"resources": {"requests": {"cpu": "3", "memory": "1Gi"}}},
                    {"resources": {"requests": {"cpu": "2", "memory": "5Gi"}}},
                ],
                "containers": [{"resources": {"requests": {"cpu": "2"}}}, {"resources": {"requests": {"cpu": "500m"}}}],
            },
            {"cpu": "3", "memory": "5Gi"},
        ),
        # A sidecar runs beside the init containers after it, and beside all regular ones.
        (
            {
                "initContainers": [
                    {"resources": {"requests": {"cpu": "3"}}},
                    {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                    {"resources": {"requests": {"cpu": "2500m"}}},
                ],
                "containers": [{"resources": {"requests": {"cpu": "1"}}}],
            },
            {"cpu": "3500m"},
        ),
        (
            {
                "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"memory": "1Gi"}}}],
                "containers": [{"resources": {"requests": {"memory": "1Gi"}}}],
                "overhead": {"memory": "120Mi", "cpu": "250m"},
            },
            {"memory": "2168Mi", "cpu": "250m"},
        ),
        # Resources of the pod as a whole.
        (
            {
                "resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "16", "memory": "4Gi"}},
                "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": 1}}}],
            },
            {"cpu": "8", "memory": "4Gi", "nvidia.com/gpu": "1"},
        ),
    ],
)
def test_min_resources_are_made_of_effective_requests(spec: dict[str, Any], requests: dict[str, str]) -> None:
    assert {name: str(each) for name, each in pod_requests(spec).items()} == requests


def test_elastic_jobs_gang_on_their_minimum() -> None:
    elastic = {"minReplicas": 2, "maxReplicas": 8}
    job = stored("PyTorchJob", {"Worker": 5}, elasticPolicy=elastic)
    requesting(job, "Worker", {"requests": {"cpu": "1"}})
    assert spec_of(job) == {"minMember": 2, "queue": "default", "minResources": {"cpu": "2"}}
    assert spec_of(stored("PyTorchJob", {"Master": 1, "Worker": 5}, elasticPolicy=elastic))["minMember"] == 3
    # Never more than there are, or no pod would ever be scheduled.
    assert spec_of(stored("PyTorchJob", {"Worker": 1}, elasticPolicy=elastic))["minMember"] == 1
    policy = {"schedulingPolicy": {"minAvailable": 4}}
    assert spec_of(stored("PyTorchJob", {"Worker": 5}, elasticPolicy=elastic, run_policy=policy))["minMember"] == 4


def test_a_job_without_pods_has_none() -> None:
    job = stored("JAXJob", {"Worker": 0})
    assert pod_group(decoded(job), framework("JAXJob", "volcano"), VOLCANO, {"Worker": 0}) is None


SLOTS = [(kind, Slot(replica_type, 0)) for kind, types in ALL_TYPES.items() for replica_type in types]


@pytest.mark.shows("E-128", "MPI-050", "INT-073")
@pytest.mark.parametrize(("kind", "slot"), SLOTS)
def test_pods_name_their_volcano_group_and_task(kind: str, slot: Slot) -> None:
    job = stored(kind)
    job["spec"][EVERY_KIND[kind].replica_field][slot.replica_type]["template"]["metadata"] = {
        "annotations": {"mine": "1"}
    }
    pod = pod_of(job, "Volcano", slot)
    assert pod["metadata"]["annotations"] == {
        "mine": "1",
        "scheduling.k8s.io/group-name": "sim",
        "volcano.sh/task-spec": slot.replica_type.lower(),
    }
    assert pod["spec"]["schedulerName"] == "volcano"


@pytest.mark.shows("E-129", "INT-080")
@pytest.mark.parametrize(("kind", "slot"), SLOTS)
def test_pods_name_their_group_of_scheduler_plugins(kind: str, slot: Slot) -> None:
    pod = pod_of(stored(kind), COSCHEDULER, slot)
    assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "sim"
    assert "annotations" not in pod["metadata"]
    assert pod["spec"]["schedulerName"] == COSCHEDULER


@pytest.mark.shows("E-130", "INT-074")
@pytest.mark.parametrize("scheduler", ["volcano", COSCHEDULER])
@pytest.mark.parametrize("kind", ALL_TYPES)
def test_another_scheduler_is_kept_and_warned_of(kind: str, scheduler: str) -> None:
    job = stored(kind)
    replica_type = list(ALL_TYPES[kind])[-1]
    assert list(foreign_schedulers(decoded(job), framework(kind, scheduler))) == []
    requesting(job, replica_type, {}, schedulerName="mine")
    reason = "SettedPodTemplateSchedulerName" if kind == "MPIJob" else "SetPodTemplateSchedulerName"
    [event] = foreign_schedulers(decoded(job), framework(kind, scheduler))
    assert (event.type, event.reason, event.message) == (
        "Warning",
        reason,
        "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten",
    )
    assert event.once, "not with every reconcile"
    assert pod_of(job, scheduler, Slot(replica_type, 0))["spec"]["schedulerName"] == "mine"
    for own in (scheduler, ""):
        requesting(job, replica_type, {}, schedulerName=own)
        assert list(foreign_schedulers(decoded(job), framework(kind, scheduler))) == []


@pytest.mark.shows("INT-086", "INT-088")
@pytest.mark.parametrize("flag", ["", "kai-scheduler", "yunikorn", "default-scheduler"])
@pytest.mark.parametrize(("kind", "slot"), SLOTS)
def test_what_other_schedulers_read_reaches_the_pods_as_it_is(kind: str, slot: Slot, flag: str) -> None:
    groups = '[ {"name": "workers",  "minMember": 2, "minResource": {"cpu": "1"}} ]'
    labels = {"yunikorn.apache.org/app-id": "a-1", "yunikorn.apache.org/queue": "root.a", "kai.scheduler/queue": "q"}
    annotations = {
        "yunikorn.apache.org/task-groups": groups,
        "yunikorn.apache.org/task-group-name": "workers",
        "yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=30 gangSchedulingStyle=Hard",
    }
    job = stored(kind)
    template = job["spec"][EVERY_KIND[kind].replica_field][slot.replica_type]["template"]
    template["metadata"] = {"labels": labels, "annotations": annotations}
    pod = pod_of(job, flag, slot)
    assert labels.items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"]["annotations"] == annotations
    assert pod["spec"].get("schedulerName", "") == flag
    assert "PodGroup" not in {each.name for each in framework(kind, flag).owned_kinds}


@pytest.mark.shows("INT-060")
def test_without_the_flag_pods_have_no_keys_of_gangs() -> None:
    pod = pod_of(stored("JAXJob"), "", Slot("Worker", 0))
    assert "annotations" not in pod["metadata"]
    assert not any("pod-group" in label for label in pod["metadata"]["labels"])
    assert "schedulerName" not in pod["spec"]


@pytest.mark.shows("K-50")
@pytest.mark.parametrize("scheduler", ["volcano", COSCHEDULER, "kai-scheduler"])
@pytest.mark.parametrize("kind", ALL_TYPES)
def test_a_job_that_opts_out_is_left_as_it_is(kind: str, scheduler: str) -> None:
    job = stored(kind)
    job["metadata"]["annotations"] = {"extension.training.kubeflow.org/gang-scheduling": "false"}
    slot = Slot(next(iter(ALL_TYPES[kind])), 0)
    assert pod_of(job, scheduler, slot) == pod_of(job, "", slot)
