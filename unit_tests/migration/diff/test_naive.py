"""What goes wrong when only image and command are carried over."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from unit_tests.migration.conversions import jax, pytorch
from unit_tests.migration.diff.renderings import compared, converted, item, items, naive, worked

from training_migration.diff.model import Likeness, Summary
from training_migration.findings import Severity
from training_migration.v1_job import v1_job

GPUS: dict[str, Any] = {"resources": {"limits": {"nvidia.com/gpu": 1}}}


def test_without_launcher_every_node_trains_alone() -> None:
    difference = compared(*naive(pytorch(2), nodes=3))
    assert difference.summary is Summary.DIFFERENT
    assert difference.headline == (
        "trains differently: every node trains alone (v1: 3 pods in one group, world size 3; v2: 3 pods, each alone)"
    )
    lost = [each for each in difference.pairs[1].items if each.severity is Severity.ERROR]
    assert [(each.path, each.verdict) for each in lost] == [
        ("coordinator host (MASTER_ADDR)", Likeness.LOST),
        ("coordinator port (MASTER_PORT)", Likeness.LOST),
        ("rank (RANK)", Likeness.LOST),
        ("world size (WORLD_SIZE)", Likeness.LOST),
    ]


@pytest.mark.parametrize("command", [["/entry.sh"], []])
def test_so_it_may_be_where_the_launcher_cannot_be_seen(command: list[str]) -> None:
    difference = compared(*naive(pytorch(1, command=command), nodes=2))
    assert difference.every_node_alone
    assert item(difference, "coordinator host (PET_MASTER_ADDR), read by torchrun").verdict is Likeness.EQUIVALENT
    assert item(difference, "rank (RANK), read by a script without launcher").verdict is Likeness.LOST


def test_torchrun_finds_all_others_by_variables_of_v2_itself() -> None:
    obj = pytorch(2, command=["torchrun", "train.py"], **GPUS)
    difference = compared(*naive(obj, nodes=3, resourcesPerNode={"limits": {"nvidia.com/gpu": 1}}))
    assert difference.training == ("3 pods in one group, world size 3 nodes",) * 2
    assert not difference.every_node_alone
    assert not difference.compat
    assert {each.verdict for each in items(difference, "rank (PET_NODE_RANK)")} == {Likeness.SAME}
    harmless = item(difference, "MASTER_ADDR")
    assert (harmless.verdict, harmless.severity) == (Likeness.EQUIVALENT, None)
    assert harmless.reason == "torchrun does not need it"


def test_the_variables_of_v1_written_out_make_it_equal_again() -> None:
    difference = compared(*converted(pytorch(2)))
    assert difference.summary is Summary.COMPAT
    assert difference.headline == "equivalent with compat env"


IDIOM = "--nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"


@pytest.mark.parametrize("flags", ["", IDIOM])
def test_flags_made_of_variables_that_are_gone_are_empty(flags: str) -> None:
    obj = pytorch(1, command=["sh", "-c", f"torchrun {flags} train.py"], **GPUS)
    difference = compared(*naive(obj, nodes=2, resourcesPerNode=GPUS["resources"]))
    assert {each.verdict for each in items(difference, "rank (")} == {Likeness.DIFFERENT if flags else Likeness.SAME}
    assert (difference.summary is Summary.DIFFERENT) is bool(flags)


def test_jax_does_not_find_v2s_own_variables() -> None:
    difference = compared(*naive(jax(2), nodes=2, runtime="jax-distributed"))
    assert difference.every_node_alone
    own = item(difference, "JAX_PROCESS_ID")
    assert (own.verdict, own.reason) == (Likeness.EQUIVALENT, "v2's own name; the script does not read it")


def test_torchrun_in_place_of_python_is_the_remedy() -> None:
    job, runtime, train_job = naive(pytorch(2), nodes=3, numProcPerNode=1)
    train_job["spec"]["trainer"]["command"] = ["torchrun", "train.py"]
    difference = compared(job, runtime, train_job)
    command = item(difference, "command line")
    assert command.reason == "the same script, started by python on v1 and by torchrun on v2"
    assert {each.verdict for each in items(difference, "rank")} == {Likeness.SAME}
    assert {each.verdict for each in items(difference, "world size")} == {Likeness.EQUIVALENT}
    assert difference.worst is Severity.WARNING, "nothing but the life cycle"


def test_another_number_of_processes_in_each_pod_is_another_training() -> None:
    difference = compared(*naive(pytorch(1, command=["torchrun", "train.py"]), nodes=2))
    local = item(difference, "local size")
    assert (local.v1, local.v2, local.severity) == ("auto", "1", Severity.ERROR)


def test_pods_that_are_missing_or_too_many_are_reported() -> None:
    fewer = compared(*naive(pytorch(2), nodes=2))
    assert fewer.pairs[-1].items[0].reason == "no pod of v2 does its work"
    more = compared(*naive(pytorch(1), nodes=3))
    assert more.pairs[-1].items[0].reason == "v1 has no pod that does its work"
    assert more.pairs[-1].v1 == ()


def with_variable(name: str, value: str) -> Any:
    job, runtime, train_job = converted(pytorch(1))
    train_job["spec"]["trainer"].setdefault("env", []).append({"name": name, "value": value})
    return compared(job, runtime, train_job)


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        ("job-node-0-0.job:29500", ""),
        ("job-node-0-1.job.team.svc.cluster.local", ""),
        ("job-master-0", "job-master-0"),
        ("http://job-worker-0:80/x", "job-worker-0"),
        ("job-node-0-1", "job-node-0-1"),
        ("job-node-0-7.job", "job-node-0-7.job"),
        ("job-node-0-1.job.elsewhere.svc", "job-node-0-1.job.elsewhere.svc"),
        ("my-job-master-0", ""),
    ],
)
def test_names_that_no_pod_has_are_found(value: str, lost: str) -> None:
    found = item(with_variable("PEER", value), "names of hosts")
    assert found.v2 == (f"of no pod: {lost}" if lost else "all lead to pods")
    assert (found.severity is Severity.ERROR) is bool(lost)


def test_a_variable_of_the_user_that_is_lost_is_an_error_and_one_that_is_new_a_remark() -> None:
    obj = pytorch(1, env=[{"name": "LR", "value": "0.1"}])
    job, runtime, train_job = converted(obj)
    node = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    node["containers"][0]["env"] = [{"name": "MOMENTUM", "value": "1"}]
    difference = compared(job, runtime, train_job)
    assert [(each.verdict, each.severity) for each in (item(difference, "LR"), item(difference, "MOMENTUM"))] == [
        (Likeness.LOST, Severity.ERROR),
        (Likeness.GAINED, Severity.INFO),
    ]


def test_credentials_are_masked_everywhere() -> None:
    obj = pytorch(1, env=[{"name": "API_TOKEN", "value": "hidden-1"}], args=["--password", "hidden-2"])
    difference = compared(*converted(obj))
    assert "hidden" not in repr(difference)


def test_settings_that_a_reader_has_beside_addresses_and_ranks_have_to_be_equal() -> None:
    job, runtime, train_job = worked("xgboost")
    variables = {each["name"]: each for each in train_job["spec"]["trainer"]["env"]}
    variables["WORKER_PORT"]["value"] = "29501"
    port = item(compared(job, runtime, train_job), "WORKER_PORT")
    assert (port.verdict, port.reason) == (Likeness.EQUIVALENT, "each side uses its own port")
    train_job["spec"]["trainer"]["env"].remove(variables["WORKER_PORT"])
    assert item(compared(job, runtime, train_job), "WORKER_PORT").severity is Severity.ERROR


def test_rendezvous_settings_of_torchrun_have_to_be_equal() -> None:
    obj = pytorch(2, master=False, command=["torchrun", "train.py"], **GPUS)
    elastic = {"minReplicas": 2, "maxReplicas": 2, "rdzvBackend": "c10d", "rdzvId": "one", "maxRestarts": 3}
    obj["spec"]["elasticPolicy"] = elastic
    job, runtime, train_job = converted(obj)
    assert compared(job, runtime, train_job).worst is not Severity.ERROR
    [backend] = [each for each in train_job["spec"]["trainer"]["env"] if each["name"] == "PET_RDZV_ID"]
    backend["value"] = "another"
    assert item(compared(job, runtime, train_job), "PET_RDZV_ID").severity is Severity.ERROR


@pytest.mark.parametrize("host", ["elsewhere.example", "job-node-0-1.job"])
def test_an_address_that_leads_to_no_pod_or_to_another_pod_is_another_training(host: str) -> None:
    job, runtime, train_job = converted(pytorch(1))
    [address] = [each for each in train_job["spec"]["trainer"]["env"] if each["name"] == "MASTER_ADDR"]
    address["value"] = host
    found = item(compared(job, runtime, train_job), "coordinator host (MASTER_ADDR)")
    assert (found.verdict, found.severity) == (Likeness.DIFFERENT, Severity.ERROR)


def test_names_that_are_known_only_later_than_on_v1_are_a_warning() -> None:
    job, runtime, train_job = converted(jax(2))
    runtime["spec"]["template"]["spec"]["network"] = {"publishNotReadyAddresses": False}
    found = item(compared(job, runtime, train_job), "the name of a pod is known")
    assert (found.v1, found.v2, found.severity) == ("before it is ready", "once it is ready", Severity.WARNING)


def with_a_sidecar_first(obj: Any) -> Any:
    spec = obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    token = {"name": "API_TOKEN", "value": "hidden-3"}
    spec["containers"].insert(0, {"name": "side", "image": "example.com/side:1", "env": [token]})
    return obj


def test_the_container_that_trains_is_known_by_its_name_where_no_policy_names_it() -> None:
    given, runtime, train_job = worked("tensorflow")
    job = copy.deepcopy(given.object)
    templates = [replica["template"] for replica in job["spec"]["tfReplicaSpecs"].values()]
    roles = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    for template in (*templates, *(role["template"]["spec"]["template"] for role in roles)):
        template["spec"]["containers"].insert(0, {"name": "side", "image": "example.com/side:1"})
    difference = compared(v1_job(job), runtime, train_job)
    assert difference.worst is not Severity.ERROR, difference.headline
    assert {each.verdict for each in items(difference, "spec.containers[tensorflow].image")} == {Likeness.SAME}


def test_credentials_of_sidecars_are_masked() -> None:
    job, runtime, train_job = converted(with_a_sidecar_first(pytorch(2)), asymmetric="split")
    for role in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        for container in role["template"]["spec"]["template"]["spec"]["containers"]:
            container["env"] = [each for each in container.get("env") or () if each["name"] != "API_TOKEN"]
    difference = compared(job, runtime, train_job)
    lost = item(difference, "spec.containers[side].env[API_TOKEN]")
    assert (lost.verdict, lost.v1) == (Likeness.LOST, "name: API_TOKEN, value: ********")
    assert "hidden" not in repr(difference)


def test_the_default_container_follows_the_new_name() -> None:
    obj = pytorch(1)
    for replica in obj["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["metadata"] = {"annotations": {"kubectl.kubernetes.io/default-container": "pytorch"}}
    found = item(compared(*converted(obj)), "metadata.annotations.kubectl.kubernetes.io/default-container")
    assert (found.v1, found.v2, found.severity) == ("pytorch", "node", Severity.INFO)
