"""The predicted objects of v1 are those that the Go operator made (conformance recordings)."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest
import yaml
from e2e.support.leaves import leaves_of
from e2e.support.paths import ROOT

from training_controllers.frameworks.mpi.ssh_pods import LAUNCH
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_migration.render_v1 import DEFAULT_NAMESPACE, render_v1
from training_migration.v1_job import v1_job

CONFORMANCE = ROOT / "e2e" / "conformance"
Json = dict[str, Any]

COLLECTIONS = {
    "Service": "services",
    "ConfigMap": "configmaps",
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
}


def recorded() -> dict[str, Json]:
    """By case, the first state with pods of the job as it was created."""
    states = {}
    for path in sorted((CONFORMANCE / "golden").glob("*.json")):
        for snapshot in json.loads(path.read_text())["snapshots"]:
            if snapshot["state"]["pods"]:
                states[path.stem] = snapshot["state"]
                break
    return states


RECORDED = recorded()


def stored(case: str) -> Json:
    job: Json = yaml.load((CONFORMANCE / "cases" / f"{case}.yaml").read_text(), yaml.CSafeLoader)["job"]
    job["metadata"] |= {"namespace": "<ns>", "uid": "<uid>"}
    return job


def test_all_kinds_are_recorded() -> None:
    assert len(RECORDED) >= 45
    assert {case.partition("-")[0] for case in RECORDED} == {"jax", "mpi", "pd", "pt", "tf", "xgb"}


@pytest.mark.parametrize("case", RECORDED)
def test_objects_and_pods_are_the_recorded_ones(case: str) -> None:
    rendering = render_v1(v1_job(stored(case)))
    state = RECORDED[case]
    ours = {each.pod["metadata"]["name"]: each.pod for each in rendering.pods}
    theirs = {pod["metadata"]["name"]: pod for pod in state["pods"]}
    assert ours.keys() == theirs.keys()
    for name, pod in ours.items():
        assert differences(pod, theirs[name]) == []
    for kind, collection in COLLECTIONS.items():
        made = {each["metadata"]["name"]: each for each in rendering.objects if each["kind"] == kind}
        assert made.keys() == {each["metadata"]["name"] for each in state[collection]}, kind
        for each in state[collection]:
            assert differences(made[each["metadata"]["name"]], each) == []


FILLED_IN = (
    "*/metadata/creationTimestamp",
    "*/metadata/uid",
    "*/status/*",
    "*/fieldRef/apiVersion",
    "*/protocol",
    "*/targetPort",
    "Pod/spec/*ontainers/*/imagePullPolicy",
    "Pod/spec/*ontainers/*/resources",
    "Pod/spec/*ontainers/*/resources/requests/nvidia.com/gpu",
    "Pod/spec/*ontainers/*/terminationMessage*",
    "Pod/spec/dnsPolicy",
    "Pod/spec/enableServiceLinks",
    "Pod/spec/preemptionPolicy",
    "Pod/spec/priority",
    "Pod/spec/schedulerName",
    "Pod/spec/securityContext",
    "Pod/spec/serviceAccount",
    "Pod/spec/terminationGracePeriodSeconds",
    "Pod/spec/tolerations/*",
    "Pod/spec/volumes/*/configMap/defaultMode",
    "Service/spec/internalTrafficPolicy",
    "Service/spec/ipFamilies/*",
    "Service/spec/ipFamilyPolicy",
    "Service/spec/sessionAffinity",
    "Service/spec/type",
)
"""What the API server adds to objects."""
MEANT = (
    "Pod/spec/containers/*/env/PRTE_MCA_*",  # Open MPI 5 reads them in place of Open MPI 4's
    "Service/spec/publishNotReadyAddresses",  # K-31
    "Role/rules/1/*",  # without workers: v1 allows entering every pod
    "ConfigMap/data/discover_hosts.sh",  # no worker runs yet in the recorded state
)


def differences(ours: Json, recorded: Json) -> list[str]:
    """Paths of leaves that are not the same, but for what the API server adds and what is meant."""
    kind = ours["kind"]
    first, second = (dict(leaves_of(each, kind)) for each in (ours, recorded))
    return [
        f"{path}: {first.get(path)!r} is recorded as {second.get(path)!r}"
        for path in sorted(first.keys() | second.keys())
        if str(first.get(path)) != str(second.get(path))
        and not any(fnmatchcase(path, pattern) for pattern in MEANT)
        and not (path not in first and any(fnmatchcase(path, pattern) for pattern in FILLED_IN))
        and path not in (f"{kind}/kind", f"{kind}/apiVersion")
    ]


def test_an_mpi_job_finds_its_hosts_as_when_all_run() -> None:
    case = json.loads((CONFORMANCE / "golden" / "mpi-success.json").read_text())
    running = next(each["state"] for each in case["snapshots"] if "launcher runs" in each["step"])
    [config_map] = [each for each in render_v1(v1_job(stored("mpi-success"))).objects if each["kind"] == "ConfigMap"]
    assert config_map["data"] == running["configmaps"][0]["data"]


def job(**policy: Any) -> Json:
    return {**stored("pt-simple-success"), "spec": {**stored("pt-simple-success")["spec"], "runPolicy": policy}}


def test_a_job_that_does_not_run_here_is_rendered_as_if_it_did() -> None:
    held = job(suspend=True, managedBy="kueue.x-k8s.io/multikueue")
    assert render_v1(v1_job(held)) == render_v1(v1_job(job()))


def test_without_a_namespace_it_is_the_one_that_kubectl_takes() -> None:
    nowhere = job()
    nowhere["metadata"] = {"name": "simple"}
    rendering = render_v1(v1_job(nowhere))
    assert {each.pod["metadata"]["namespace"] for each in rendering.pods} == {DEFAULT_NAMESPACE}
    assert {each["metadata"]["namespace"] for each in rendering.objects} == {DEFAULT_NAMESPACE}


def test_pods_have_role_index_main_container_and_the_name_that_others_use() -> None:
    pods = render_v1(v1_job(stored("pt-simple-success"))).pods
    assert [(each.role, each.index, each.container, each.hostname) for each in pods] == [
        ("master", 0, "pytorch", "simple-master-0"),
        ("worker", 0, "pytorch", "simple-worker-0"),
    ]


def test_workers_over_ssh_are_reached_through_the_jobs_network() -> None:
    over_ssh = stored("mpi-success")
    over_ssh["metadata"]["annotations"] = {LAUNCH.annotation: "ssh"}
    rendering = render_v1(v1_job(over_ssh))
    name = over_ssh["metadata"]["name"]
    assert [each.hostname for each in rendering.pods if each.role == "worker"] == [
        f"{name}-worker-0.{name}-mpi",
        f"{name}-worker-1.{name}-mpi",
    ]
    assert [each["kind"] for each in rendering.objects] == ["ConfigMap", "Service", "Secret"]


@pytest.mark.parametrize("scheduler", ["volcano", "scheduler-plugins-scheduler"])
def test_a_gang_has_its_group_first_and_its_scheduler_in_every_pod(scheduler: str) -> None:
    rendering = render_v1(v1_job(job()), FrameworkOptions(gang=gang_scheduler(scheduler)))
    assert rendering.objects[0]["kind"] == "PodGroup"
    assert rendering.objects[0]["spec"]["minMember"] == 2
    assert {each.pod["spec"]["schedulerName"] for each in rendering.pods} == {scheduler}


def test_the_pods_have_no_other_owner() -> None:
    """The builders share parts of templates; whoever has a rendering may change it."""
    first, second = render_v1(v1_job(job())).pods
    first.pod["spec"]["containers"][0]["command"].append("more")
    assert second.pod["spec"]["containers"][0]["command"] == ["python", "train.py"]
