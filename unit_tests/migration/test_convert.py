"""Conversions: what all kinds share, and PyTorchJob, beyond what the golden corpus has."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from e2e.support.at_most import at_most
from unit_tests.migration.conversions import (
    INDEX,
    Json,
    converted,
    jax,
    job_set,
    pod,
    pytorch,
    replicated_job,
    rules,
    runtime_spec,
    trainer_env,
)

from training_migration.choices import Asymmetric, CompatEnv, Ttl
from training_migration.convert.assemble import LOSSES
from training_migration.convert.round_trip import round_trip
from training_migration.convert.writer import yaml_text
from training_migration.findings import Severity, Verdict
from training_migration.targets import Target


class TestPyTorch:
    def test_master_and_workers_are_nodes_with_the_variables_of_v1(self) -> None:
        conversion = converted(pytorch(3))
        assert runtime_spec(conversion)["mlPolicy"] == {"numNodes": 4, "torch": {}}
        assert conversion.train_job["spec"]["trainer"]["numNodes"] == 4
        assert trainer_env(conversion) == {
            "PYTHONUNBUFFERED": "1",
            "MASTER_ADDR": "job-node-0-0.job",
            "MASTER_PORT": "29500",
            "WORLD_SIZE": "4",
            "RANK": INDEX,
        }
        assert "successPolicy" not in replicated_job(conversion)["template"]["spec"], "v1 lets workers run on"
        assert rules(conversion)["MIG101"]
        assert not conversion.rejected

    def test_without_the_variables_of_v1_every_node_would_train_alone(self) -> None:
        conversion = converted(pytorch(3), compat_env=CompatEnv.NEVER)
        assert trainer_env(conversion) == {}
        assert rules(conversion)["MIG101"] is False
        assert conversion.verdict is Verdict.NEEDS_WORK

    @pytest.mark.parametrize("command", [["torchrun", "train.py"], ["python", "-m", "torch.distributed.run", "t.py"]])
    def test_torchrun_needs_no_variables(self, command: list[str]) -> None:
        assert trainer_env(converted(pytorch(command=command))) == {"PYTHONUNBUFFERED": "1"}

    def test_torchrun_with_flags_from_variables_of_v1_keeps_them(self) -> None:
        command = ["sh", "-c", "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK train.py"]
        conversion = converted(pytorch(command=command))
        assert {"WORLD_SIZE", "RANK", "MASTER_ADDR"} <= trainer_env(conversion).keys()
        assert rules(conversion)["MIG103"]

    def test_what_v1_overrides_is_dropped(self) -> None:
        conversion = converted(pytorch(env=[{"name": "RANK", "value": "7"}, {"name": "A", "value": "b"}]))
        assert pod(conversion)["containers"][0]["env"] == [{"name": "A", "value": "b"}]
        assert rules(conversion)["MIG105"]

    @pytest.mark.parametrize(
        ("resources", "processes"),
        [
            ({"limits": {"nvidia.com/gpu": 4}}, None),
            ({"requests": {"cpu": "3500m"}}, 4),
            ({"limits": {"nvidia.com/mig-1g.5gb": 2, "cpu": 8}}, 2),
            ({}, 1),
        ],
    )
    def test_processes_of_torchrun(self, resources: Json, processes: int | None) -> None:
        conversion = converted(pytorch(command=["torchrun", "t.py"], resources=resources))
        assert conversion.train_job["spec"]["trainer"].get("numProcPerNode") == processes
        assert rules(conversion).get("MIG110", False) == ("mig-" in str(resources)), "v2 would count CPUs"

    def test_a_word_for_the_number_of_processes_becomes_a_flag(self) -> None:
        obj = pytorch(command=["python", "-m", "torch.distributed.run", "t.py"])
        obj["spec"]["nprocPerNode"] = "cpu"
        command = pod(converted(obj))["containers"][0]["command"]
        assert command == ["python", "-m", "torch.distributed.run", "--nproc-per-node=cpu", "t.py"]

    def test_elastic_job_gets_a_fixed_size_and_its_rendezvous(self) -> None:
        obj = pytorch(3, master=False, command=["torchrun", "t.py"])
        obj["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 5, "rdzvBackend": "c10d", "maxRestarts": 9}
        conversion = converted(obj)
        assert conversion.verdict is Verdict.NEEDS_WORK
        assert json.loads(conversion.train_job["metadata"]["annotations"][LOSSES]) == ["MIG109", "MIG203"]
        assert conversion.train_job["spec"]["trainer"]["numNodes"] == 3
        env = trainer_env(conversion)
        assert env["PET_RDZV_ENDPOINT"] == "job-node-0-0.job:29500"
        assert (env["PET_RDZV_BACKEND"], env["PET_MAX_RESTARTS"]) == ("c10d", "9")
        assert "PET_NNODES" not in env
        assert "successPolicy" not in replicated_job(conversion)["template"]["spec"], "v1 lets the others run on"

    def test_elastic_job_of_one_size_loses_nothing(self) -> None:
        obj = pytorch(2, master=False, command=["torchrun", "t.py"])
        obj["spec"]["elasticPolicy"] = {"rdzvHost": "etcd.infra", "rdzvPort": 2379, "rdzvBackend": "etcd-v2"}
        conversion = converted(obj)
        assert [each.level for each in conversion.findings if each.rule.id == "MIG203"] == [Severity.INFO]
        assert trainer_env(conversion)["PET_RDZV_ENDPOINT"] == "etcd.infra:2379"

    def test_names_of_hosts_are_those_of_the_train_job(self) -> None:
        assert trainer_env(converted(pytorch(), name="other"))["MASTER_ADDR"] == "other-node-0-0.other"


class TestAsymmetric:
    def job(self, **master: Any) -> Json:
        obj = pytorch(2, resources={"limits": {"cpu": "2", "memory": "1Gi"}})
        obj["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0].update(master)
        return obj

    def test_a_shell_chooses_between_two_commands(self) -> None:
        conversion = converted(self.job(command=["python", "master.py", "--note=it's"], args=["--all"]))
        command = pod(conversion)["containers"][0]["command"]
        assert (command[:2], command[3]) == (["sh", "-c"], "by-index")
        assert command[2].splitlines() == [
            'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then',
            "  exec python master.py '--note=it'\"'\"'s' --all",
            "else",
            "  exec python train.py",
            "fi",
        ]
        assert "args" not in pod(conversion)["containers"][0]
        assert rules(conversion)["MIG201"]
        difference = round_trip(conversion).difference
        assert difference is not None
        assert difference.worst is Severity.INFO, "the comparison sees through the shell"

    def test_an_image_that_decides_by_itself_cannot_be_put_behind_a_shell(self) -> None:
        assert replicated_job(converted(self.job(command=None, args=["--master"])), "worker")

    def test_under_a_gang_workers_without_a_command_cannot_be_given_a_rank(self) -> None:
        obj = self.job(command=["python", "master.py"])
        del obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
        assert "no command" in converted(obj, gang_scheduler="volcano").rejected
        assert not converted(obj).rejected

    def test_a_container_that_trains_and_is_not_the_first_is_pointed_out(self) -> None:
        obj = self.job(image="other")
        worker = obj["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
        worker["containers"].insert(0, {"name": "side", "image": "x"})
        metadata = replicated_job(converted(obj), "worker")["template"]["spec"]["template"]["metadata"]
        assert metadata["annotations"] == {"kubectl.kubernetes.io/default-container": "pytorch"}

    def test_reject(self) -> None:
        conversion = converted(self.job(image="other"), asymmetric=Asymmetric.REJECT)
        assert "spec.containers[pytorch].image" in conversion.rejected

    def test_split_where_merging_would_do(self) -> None:
        conversion = converted(self.job(resources={}), asymmetric=Asymmetric.SPLIT)
        assert replicated_job(conversion, "master")


class TestContainers:
    def test_the_new_name_of_the_main_container_is_followed(self) -> None:
        obj = jax(env=[{"name": "CPUS", "valueFrom": {"resourceFieldRef": {"containerName": "jax", "resource": "x"}}}])
        worker = obj["spec"]["jaxReplicaSpecs"]["Worker"]
        worker["restartPolicy"] = "ExitCode"
        worker["template"]["metadata"] = {"annotations": {"kubectl.kubernetes.io/default-container": "jax"}}
        conversion = converted(obj)
        template = replicated_job(conversion)["template"]["spec"]
        assert template["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] == "node"
        container = template["template"]["spec"]["containers"][0]
        assert container["name"] == "node"
        assert container["env"][0]["valueFrom"]["resourceFieldRef"]["containerName"] == "node"
        annotations = template["template"]["metadata"]["annotations"]
        assert annotations == {"kubectl.kubernetes.io/default-container": "node"}

    def test_ports_without_a_name_get_one(self) -> None:
        ports = [{"containerPort": 8080}, {"containerPort": 8080, "protocol": "UDP"}, {"name": "m", "containerPort": 1}]
        conversion = converted(jax(ports=ports))
        named = [(port["name"], port["containerPort"]) for port in pod(conversion)["containers"][0]["ports"]]
        assert named == [("port-8080", 8080), ("port-8080-udp", 8080), ("m", 1)]
        # A number with two protocols is none that a name could mend.
        assert rules(conversion)["MIG223"] is False
        assert rules(converted(jax(ports=[{"containerPort": 1}, {"containerPort": 2}])))["MIG223"]
        assert rules(converted(jax(ports=[{"containerPort": 1}])))["MIG216"]
        assert not {"MIG216", "MIG223"} & set(rules(converted(jax(ports=ports), Target.NEXT)))

    def test_of_variables_with_one_name_the_last_counts(self) -> None:
        env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
        assert pod(converted(jax(env=env)))["containers"][0]["env"] == env[1:]

    def test_sidecars(self) -> None:
        obj = jax()
        given = obj["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
        given["initContainers"] = [{"name": "i", "image": "x"}]
        containers = given["containers"]
        containers.append({"name": "node", "image": "x", "command": ["sh", "-c", "echo $PROCESS_ID"]})
        assert "'node'" in converted(obj).rejected, "the name of the container that trains"
        containers[1]["name"] = "reads"
        assert rules(converted(obj))["MIG220"]
        names = [each["name"] for each in pod(converted(obj))["containers"][1]["env"]]
        assert "PROCESS_ID" in names
        native = pod(converted(obj, native_sidecars=True))
        assert [each["name"] for each in native["containers"]] == ["node"]
        assert [each.get("restartPolicy") for each in native["initContainers"]] == [None, "Always"]
        containers[1]["command"] = ["logger"]
        conversion = converted(obj)
        assert "env" not in pod(conversion)["containers"][1]
        assert rules(conversion)["MIG220"] is False


class TestRunPolicy:
    @pytest.mark.parametrize(
        ("restart", "limit", "pods", "backoff"),
        [
            ("OnFailure", None, "OnFailure", 2147483647),
            ("OnFailure", 3, "OnFailure", 3),
            ("Never", None, "Never", 0),
            ("Never", 3, "Never", 0),
            ("Always", 2, "OnFailure", 2),
            ("ExitCode", None, "Never", 2147483647),
        ],
    )
    def test_restarts(self, restart: str, limit: int | None, pods: str, backoff: int) -> None:
        obj = pytorch(0, policy={} if limit is None else {"backoffLimit": limit})
        obj["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = restart
        conversion = converted(obj)
        assert pod(conversion)["restartPolicy"] == pods
        assert replicated_job(conversion)["template"]["spec"]["backoffLimit"] == backoff

    def test_exit_codes_that_fail_the_job(self) -> None:
        obj = pytorch(0)
        obj["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "ExitCode"
        rule = replicated_job(converted(obj))["template"]["spec"]["podFailurePolicy"]["rules"][0]
        assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", list(range(1, 128)))
        obj["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": "job"}
        rule = job_set(converted(obj))["failurePolicy"]["rules"][0]
        assert (rule["action"], rule["onJobFailureReasons"]) == ("FailJobSet", ["PodFailurePolicy"])

    def test_time_to_live_only_where_failed_jobs_do_not_run_again(self) -> None:
        obj = pytorch(policy={"ttlSecondsAfterFinished": 60})
        dropped = converted(obj)
        assert "ttlSecondsAfterFinished" not in job_set(dropped)
        assert not dropped.rejected
        assert "3779" in converted(obj, ttl=Ttl.KEEP).rejected
        kept = converted(obj, Target.NEXT, ttl=Ttl.KEEP)
        assert job_set(kept)["ttlSecondsAfterFinished"] == 60
        assert not kept.rejected

    def test_deadline_suspension_and_manager(self) -> None:
        policy = {"activeDeadlineSeconds": 9, "suspend": True, "managedBy": "kubeflow.org/training-operator"}
        spec = converted(pytorch(policy=policy)).train_job["spec"]
        assert (spec["activeDeadlineSeconds"], spec["suspend"]) == (9, True)
        assert spec["managedBy"] == "trainer.kubeflow.org/trainjob-controller"
        older = converted(pytorch(policy=policy), Target.V2_1)
        assert "activeDeadlineSeconds" not in older.train_job["spec"]
        assert replicated_job(older)["template"]["spec"]["activeDeadlineSeconds"] == 9

    def test_jobs_of_an_old_kubernetes_have_no_success_policy(self) -> None:
        conversion = converted(pytorch(), kubernetes="1.30")
        assert "successPolicy" not in replicated_job(conversion)["template"]["spec"]
        assert rules(conversion)["MIG308"] is False

    @pytest.mark.parametrize(("limit", "restarts"), [(None, 2147483647), (3, 2), (0, 0)])
    def test_a_job_that_starts_anew_as_a_whole(self, limit: int | None, restarts: int) -> None:
        obj = pytorch(policy={} if limit is None else {"backoffLimit": limit})
        obj["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": "job"}
        conversion = converted(obj)
        assert job_set(conversion)["failurePolicy"] == {"maxRestarts": restarts}
        assert pod(conversion)["restartPolicy"] == "Never"
        assert replicated_job(conversion)["template"]["spec"]["backoffLimit"] == 0
        assert "annotations" not in conversion.train_job["metadata"]

    def test_gang_of_volcano(self) -> None:
        obj = pytorch(policy={"schedulingPolicy": {"queue": "gold", "priorityClass": "high"}})
        assert "podGroupPolicy" not in runtime_spec(converted(obj, gang_scheduler="none"))
        conversion = converted(obj)
        assert runtime_spec(conversion)["podGroupPolicy"] == {"volcano": {}}
        annotations = runtime_spec(conversion)["template"]["metadata"]["annotations"]
        assert annotations == {"scheduling.volcano.sh/queue-name": "gold"}
        assert (pod(conversion)["schedulerName"], pod(conversion)["priorityClassName"]) == ("volcano", "high")

    def test_gang_of_coscheduling(self) -> None:
        policy = {"schedulingPolicy": {"minAvailable": 1, "scheduleTimeoutSeconds": 30}}
        conversion = converted(pytorch(policy=policy), gang_scheduler="my-scheduler")
        assert runtime_spec(conversion)["podGroupPolicy"] == {"coscheduling": {"scheduleTimeoutSeconds": 30}}
        assert pod(conversion)["schedulerName"] == "my-scheduler"
        assert rules(conversion)["MIG309"] is False


class TestNames:
    def test_a_long_name_is_rejected_with_the_sum(self) -> None:
        obj = jax()
        obj["metadata"]["name"] = "j" * 50
        assert "has 50 characters, at most 48 are possible: 63" in converted(obj).rejected
        for pods, length in ((2, 48), (11, 47)):
            assert converted(jax(pods), name="j" * (length + 1)).rejected
            assert not converted(jax(pods), name="j" * length).rejected

    def test_a_digit_first_is_rejected(self) -> None:
        assert "a letter first" in converted(jax(), name="1-job").rejected

    def test_a_job_without_replicas_is_rejected(self) -> None:
        conversion = converted(jax(0))
        assert conversion.rejected
        assert conversion.runtime is None


def test_what_is_lost_stands_on_the_train_job() -> None:
    obj = pytorch(policy={"ttlSecondsAfterFinished": 60, "cleanPodPolicy": "None"})
    obj["metadata"]["annotations"] = {"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    conversion = converted(obj)
    annotations = conversion.train_job["metadata"]["annotations"]
    assert annotations == {"a": "b", LOSSES: '["MIG306"]'}
    assert conversion.verdict is Verdict.EQUIVALENT
    assert {each.level for each in conversion.findings if each.rule.id == "MIG306"} == {Severity.WARNING}


def test_the_job_itself_is_not_changed() -> None:
    obj = pytorch(ports=[{"containerPort": 1}])
    before = copy.deepcopy(obj)
    converted(obj)
    assert obj == before


def test_a_fraction_of_a_cpu_becomes_text_because_api_servers_reject_the_number() -> None:
    [container] = pod(converted(jax(resources={"requests": {"cpu": 0.5, "memory": "1Gi"}})))["containers"]
    assert container["resources"] == {"requests": {"cpu": "0.5", "memory": "1Gi"}}


def test_the_configuration_of_thousands_of_replicas_is_written_at_once() -> None:
    """A million characters took the emitter of YAML more than a second."""
    text = json.dumps({"it's": [f"job-worker-{index}.job:2222" for index in range(100_000)]})
    conversion = converted(pytorch(3, env=[{"name": "CONFIG", "value": text}]))
    with at_most(1.0):
        written = yaml_text(conversion)
    assert "job-worker-99999" in written
    assert list(yaml.load_all(written, Loader=yaml.CSafeLoader)) == list(conversion.objects)
