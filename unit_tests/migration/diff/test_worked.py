"""A conversion of each kind that was written by hand, compared with what v1 makes of the job."""

from __future__ import annotations

import pytest
from unit_tests.migration.diff.renderings import VOLCANO, WORKED, compared, converted, item, items, worked

from training_migration.diff.model import Difference, Likeness, Summary
from training_migration.findings import Severity


def title(places: tuple[object, ...]) -> str:
    return ", ".join(map(str, places))


def pairs(difference: Difference) -> list[str]:
    return [f"{title(pair.v1)} = {title(pair.v2)}" for pair in difference.pairs]


@pytest.mark.parametrize(
    ("name", "summary", "training", "expected"),
    [
        ("pytorch", Summary.LIFE_CYCLE, "4 pods in one group, world size 4",
         ["master 0 = node 0", "worker 0, worker 1, worker 2 = node 1, node 2, node 3"]),
        ("tensorflow", Summary.COMPAT, "4 pods in one group, world size 4",
         ["chief 0 = chief 0", "worker 0, worker 1 = worker 0, worker 1", "ps 0 = ps 0"]),
        ("xgboost", Summary.LIFE_CYCLE, "3 pods in one group, world size 3",
         ["master 0 = node 0", "worker 0, worker 1 = node 1, node 2"]),
        ("mpi", Summary.LIFE_CYCLE, "3 pods in one group, world size 4",
         ["launcher 0 = launcher 0", "worker 0, worker 1 = node 0, node 1"]),
        ("paddle", Summary.COMPAT, "2 pods in one group, world size 2", ["worker 0 = node 0", "worker 1 = node 1"]),
        ("jax", Summary.COMPAT, "3 pods in one group, world size 3",
         ["worker 0, worker 1, worker 2 = node 0, node 1, node 2"]),
    ],
)  # fmt: skip
def test_the_same_training_happens(name: str, summary: Summary, training: str, expected: list[str]) -> None:
    difference = compared(*worked(name))
    assert difference.summary is summary
    assert difference.training == (training, training)
    assert pairs(difference) == expected
    assert not difference.every_node_alone
    assert difference.worst is not Severity.ERROR


def test_all_kinds_are_there() -> None:
    assert list(WORKED) == ["jax", "mpi", "paddle", "pytorch", "tensorflow", "xgboost"]


def test_addresses_are_equivalent_because_they_lead_to_the_same_pod() -> None:
    host = item(compared(*worked("pytorch")), "coordinator host (MASTER_ADDR)")
    assert (host.v1, host.v2) == ("resnet-master-0", "resnet-node-0-0.resnet")
    assert (host.verdict, host.reason) == (Likeness.EQUIVALENT, "leads to the same pods")


def test_ranks_of_folded_pods_are_shown_as_a_span() -> None:
    ranks = [(each.v1, each.v2, each.verdict) for each in items(compared(*worked("pytorch")), "rank")]
    assert ranks == [("0", "0", Likeness.SAME), ("1 ... 3", "1 ... 3", Likeness.SAME)]


def test_a_sidecar_loses_the_variables_that_v1_gave_to_every_container() -> None:
    lost = item(compared(*worked("pytorch")), "spec.containers[tb].env")
    assert (lost.verdict, lost.severity) == (Likeness.LOST, Severity.WARNING)
    assert lost.v1.startswith("PYTHONUNBUFFERED, MASTER_PORT, PET_MASTER_PORT, MASTER_ADDR, ")
    assert lost.v2 == ""


def test_the_gang_is_the_same_where_v1_has_the_same_scheduler() -> None:
    with_gang = compared(*worked("pytorch"), VOLCANO)
    assert item(with_gang, "pods of the gang").verdict is Likeness.SAME
    assert item(with_gang, "queue of the gang").v2 == "gold"
    assert item(with_gang, "spec.schedulerName").verdict is Likeness.SAME
    without = item(compared(*worked("pytorch")), "pods of the gang")
    assert (without.verdict, without.severity) == (Likeness.GAINED, Severity.WARNING)


def test_the_cluster_of_tensorflow_is_compared_member_by_member() -> None:
    job, runtime, train_job = worked("tensorflow")
    worker = runtime["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    config = worker["containers"][0]["env"][1]
    config["value"] = config["value"].replace("worker-0-1", "ps-0-0")
    found = items(compared(job, runtime, train_job), "cluster spec")
    assert [(each.verdict, each.severity) for each in found] == [
        (Likeness.EQUIVALENT, None),
        (Likeness.DIFFERENT, Severity.ERROR),
        (Likeness.EQUIVALENT, None),
    ]


def test_hosts_and_slots_of_mpi_are_those_of_the_host_file() -> None:
    difference = compared(*worked("mpi"))
    hosts = item(difference, "peers (hostfile)")
    assert (hosts.v1, hosts.verdict) == ("horovod-worker-0, horovod-worker-1", Likeness.EQUIVALENT)
    assert item(difference, "local size (hostfile)").v2 == "2"


def test_other_slots_of_mpi_are_another_training() -> None:
    job, runtime, train_job = worked("mpi")
    train_job["spec"]["trainer"]["numProcPerNode"] = 4
    difference = compared(job, runtime, train_job)
    assert difference.summary is Summary.DIFFERENT
    assert item(difference, "local size (hostfile)").severity is Severity.ERROR


def test_a_second_launcher_has_no_partner() -> None:
    job, runtime, train_job = worked("mpi")
    runtime["spec"]["mlPolicy"]["numNodes"] = 2
    del train_job["spec"]["trainer"]["numNodes"]
    difference = compared(job, runtime, train_job)
    assert "- = launcher 1" in [f"{title(pair.v1) or '-'} = {title(pair.v2) or '-'}" for pair in difference.pairs]
    assert difference.summary is Summary.DIFFERENT


def test_the_shell_of_paddle_is_followed_to_what_it_starts() -> None:
    difference = compared(*worked("paddle"))
    commands = items(difference, "command line")
    assert {each.verdict for each in commands} == {Likeness.EQUIVALENT}
    assert {each.v2 for each in commands} == {"python -m paddle.distributed.launch /app/t.py"}
    assert [each.v2 for each in items(difference, "coordinator host")] == ["own-address", "pd-node-0-0.pd"]


@pytest.mark.parametrize("name", WORKED)
def test_our_own_conversions_train_the_same(name: str) -> None:
    job, _, _ = worked(name)
    difference = compared(*converted(job.object), VOLCANO if name == "pytorch" else None)
    assert difference.worst is not Severity.ERROR, difference.headline
