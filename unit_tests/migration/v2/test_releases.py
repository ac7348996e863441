"""What releases of Trainer differ in: one test for each field of the table that the prediction reads."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.v2.test_mpi import mpi_runtime
from unit_tests.migration.v2.written import container, objects, rendered, replicated_job, runtime, train_job, variables

from training_migration.targets import Target
from training_migration.v2.denied import Denied, NotPredicted

OLD, V2_1, V2_2, V2_3 = Target.V2_0, Target.V2_1, Target.V2_2, Target.V2_3
GIVEN = {"resourcesPerNode": {"limits": {"cpu": "2"}}, "numProcPerNode": 1}


def node(**resources: Any) -> Any:
    return replicated_job("node", container(resources=resources))


def resources(rendering: Any, pod: int = 0) -> Any:
    return rendering.pods[pod].pod["spec"]["containers"][0].get("resources")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (V2_2, {"limits": {"cpu": "2"}}),
        (V2_3, {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"memory": "1Gi"}}),
    ],
)
def test_merges_resources(release: Any, expected: Any) -> None:
    template = node(limits={"memory": "1Gi"}, requests={"memory": "1Gi"})
    assert resources(rendered(train_job(GIVEN), runtime({}, template), release)) == expected


@pytest.mark.parametrize(("release", "expected"), [(V2_2, {"limits": {"cpu": "2"}}), (V2_3, None)])
def test_resources_need_policy(release: Any, expected: Any) -> None:
    assert resources(rendered(train_job(GIVEN), runtime(None), release)) == expected


@pytest.mark.parametrize(
    ("release", "total"),
    [(V2_1, {"cpu": "1", "memory": "1Gi"}), (V2_2, {"cpu": "7"}), (V2_3, {"cpu": "7", "memory": "1Gi"})],
)
def test_group_resources(release: Any, total: Any) -> None:
    given = {"resourcesPerNode": {"requests": {"cpu": "7"}}}
    of = runtime({}, node(requests={"cpu": "1", "memory": "1Gi"}), podGroupPolicy={"coscheduling": {}})
    (group,) = objects(rendered(train_job(given), of, release), "PodGroup")
    assert group["spec"]["minResources"] == total


@pytest.mark.parametrize(("release", "written_over"), [(V2_2, False), (V2_3, True)])
def test_init_ports(release: Any, written_over: Any) -> None:
    first = container("first", ports=[{"containerPort": 1}, {"containerPort": 2}])
    of = runtime({}, replicated_job("node", pod={"initContainers": [first]}))
    assert allowed(release, of, train_job({})) is not written_over


@pytest.mark.parametrize(("release", "mode"), [(V2_2, None), (V2_3, 0o640)])
def test_key_modes(release: Any, mode: Any) -> None:
    secret = rendered(train_job({}), mpi_runtime(), release).pods[0].pod["spec"]["volumes"][0]["secret"]
    assert (secret["items"][0].get("mode"), "defaultMode" in secret) == (mode, mode is not None)


@pytest.mark.parametrize(("release", "there"), [(OLD, False), (V2_1, True)])
def test_nodes_get_trainer(release: Any, there: bool) -> None:
    trainer = {**GIVEN, "env": [{"name": "A", "value": "1"}]}
    rendering = rendered(train_job(trainer), mpi_runtime(runLauncherAsNode=True), release)
    assert ("A" in variables(rendering.pods[0])) is there
    assert (resources(rendering) is not None) is there


def test_counts_template() -> None:
    template = node(limits={"nvidia.com/gpu": 2})
    assert (
        variables(rendered(train_job({}), runtime({"torch": {}}, template), V2_1).pods[0])["PET_NPROC_PER_NODE"]
        == "auto"
    )
    of = runtime({"torch": {"numProcPerNode": "cpu"}}, template)
    assert variables(rendered(train_job({}), of, OLD).pods[0])["PET_NPROC_PER_NODE"] == "cpu"
    with pytest.raises(NotPredicted, match="how this release counts processes"):
        rendered(train_job(GIVEN), of, OLD)
    slots = {
        release: variables(
            rendered(train_job({}), mpi_runtime(container(resources={"limits": {"nvidia.com/gpu": 2}})), release).pods[
                1
            ]
        )["OMPI_MCA_orte_set_default_slots"]
        for release in (OLD, V2_1)
    }
    assert slots == {OLD: "1", V2_1: "2"}


@pytest.mark.parametrize(("stated", "processes"), [(3, "3"), ("cpu", "5"), ("gpu", "gpu"), ("auto", "5")])
def test_the_runtime_states_processes_before_2_2(stated: Any, processes: Any) -> None:
    of = runtime({"torch": {"numProcPerNode": stated}}, node(requests={"cpu": "5"}))
    assert variables(rendered(train_job({}), of, V2_1).pods[0])["PET_NPROC_PER_NODE"] == processes
    with pytest.raises(Denied, match="no such field"):
        rendered(train_job({}), of, V2_2)


@pytest.mark.parametrize(("release", "there"), [(OLD, False), (V2_1, True)])
def test_jobset_groups(release: Any, there: bool) -> None:
    labels = rendered(train_job({}), runtime({}), release).pods[0].pod["metadata"]["labels"]
    assert ("jobset.sigs.k8s.io/group-name" in labels) is there
    assert ("jobset.sigs.k8s.io/jobset-uid" in labels) is there
    (jobset,) = objects(rendered(train_job({}), runtime({}), release), "JobSet")
    assert ("groupName" in jobset["spec"]["replicatedJobs"][0]) is there


@pytest.mark.parametrize(("release", "there"), [(V2_2, False), (V2_3, True)])
def test_snapshot(release: Any, there: bool) -> None:
    assert bool(objects(rendered(train_job({}), runtime({}), release), "ConfigMap")) is there


def allowed(release: Any, of: Any, job: Any) -> Any:
    try:
        rendered(job, of, release)
    except Denied:
        return False
    return True


INITIALIZER = replicated_job("dataset-initializer", container("dataset-initializer"), ancestor="dataset-initializer")
GRACE = {
    "replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}}
    ]
}
PATCH = {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": GRACE}}}


@pytest.mark.parametrize(
    ("before", "since", "of", "job"),
    [
        (V2_1, V2_2, runtime({}), train_job({}, activeDeadlineSeconds=1)),
        (V2_2, V2_3, runtime({"torch": {"envInjection": {}}}), train_job({})),
        (OLD, V2_1, runtime({}, podGroupPolicy={"volcano": {}}), train_job({})),
        (V2_2, V2_3, runtime({}), train_job({}, runtimePatches=[PATCH])),
    ],
    ids=["deadline", "torch_env_injection", "volcano", "patches_grace_period"],
)
def test_fields_that_came_later(before: Any, since: Any, of: Any, job: Any) -> None:
    assert (allowed(before, of, job), allowed(since, of, job)) == (False, True)


@pytest.mark.parametrize(
    ("before", "since", "of", "job"),
    [
        (V2_2, V2_3, runtime({}, INITIALIZER, replicated_job()), train_job({}, initializer={"dataset": {}})),
        (V2_2, V2_3, mpi_runtime(), train_job({"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "1"}]})),
        (V2_1, V2_2, runtime({}), train_job({}, labels={"a": "1"})),
        (V2_1, V2_2, runtime({}), train_job({}, annotations={"a": "1"})),
    ],
    ids=["initializer_mount", "rejects_mpi_env", "labels", "annotations"],
)
def test_what_later_releases_reject(before: Any, since: Any, of: Any, job: Any) -> None:
    assert (allowed(before, of, job), allowed(since, of, job)) == (True, False)


def test_ports_clash() -> None:
    ports = [{"containerPort": 1}, {"containerPort": 2}, {"containerPort": 2, "protocol": "UDP"}]
    of = runtime({"torch": {}}, replicated_job("node", container(ports=ports)))
    assert not allowed(V2_3, of, train_job({}))
    made = rendered(train_job({}), of, Target.NEXT).pods[0].pod["spec"]["containers"][0]["ports"]
    assert [port["containerPort"] for port in made] == [1, 2, 2, 29500]


def test_rejects_torch_env() -> None:
    job = train_job({"env": [{"name": "PET_NNODES", "value": "9"}]})
    assert variables(rendered(job, runtime({"torch": {}}), V2_1).pods[0])["PET_NNODES"] == "9"
    job["spec"]["trainer"]["numProcPerNode"] = 1
    assert not allowed(V2_1, runtime({"torch": {}}), job)
    del job["spec"]["trainer"]["numProcPerNode"]
    assert not allowed(V2_2, runtime({"torch": {}}), job)


def test_labels_of_the_spec_go_to_the_jobset_before_2_2() -> None:
    (jobset,) = objects(rendered(train_job({}, labels={"a": "1"}), runtime({}), V2_1), "JobSet")
    assert jobset["metadata"]["labels"] == {"a": "1"}
