"""Conversions of TFJob, XGBoostJob, PaddleJob and MPIJob, beyond what the golden corpus has."""

from __future__ import annotations

import json

import pytest
from unit_tests.migration.conversions import (
    INDEX,
    Json,
    converted,
    job_set,
    mpi,
    paddle,
    pod,
    replicated_job,
    rules,
    runtime_spec,
    tensorflow,
    trainer_env,
    variables,
    xgboost,
)

from training_migration.choices import CompatEnv
from training_migration.findings import Verdict
from training_migration.targets import Target


class TestTensorFlow:
    def test_each_role_is_a_group_with_its_cluster_spelled_out(self) -> None:
        conversion = converted(tensorflow({"Chief": 1, "Worker": 2, "PS": 1}))
        assert runtime_spec(conversion)["mlPolicy"] == {"numNodes": 1}
        assert job_set(conversion)["successPolicy"]["targetReplicatedJobs"] == ["chief", "worker"], "servers never end"
        worker = pod(conversion, "worker")["containers"][0]
        assert worker["name"] == "tensorflow"
        env = variables(worker)
        assert list(env) == ["TF_TASK_INDEX", "TF_CONFIG"]
        assert env["TF_TASK_INDEX"] == INDEX
        config = json.loads(env["TF_CONFIG"].replace("$(TF_TASK_INDEX)", "1"))
        assert config == {
            "cluster": {
                "chief": ["job-chief-0-0.job.team.svc:2222"],
                "ps": ["job-ps-0-0.job.team.svc:2222"],
                "worker": ["job-worker-0-0.job.team.svc:2222", "job-worker-0-1.job.team.svc:2222"],
            },
            "task": {"type": "worker", "index": 1},
            "environment": "cloud",
        }
        assert replicated_job(conversion, "worker")["template"]["spec"]["parallelism"] == 2

    def test_without_a_chief_worker_0_is_enough(self) -> None:
        obj = tensorflow({"Worker": 3, "PS": 1})
        assert "successPolicy" not in replicated_job(converted(obj), "worker")["template"]["spec"]
        obj["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
        success = replicated_job(converted(obj), "worker")["template"]["spec"]["successPolicy"]
        assert success == {"rules": [{"succeededIndexes": "0"}]}
        obj["spec"]["successPolicy"] = "AllWorkers"
        assert "successPolicy" not in replicated_job(converted(obj), "worker")["template"]["spec"]

    def test_a_single_worker_has_no_cluster(self) -> None:
        assert "env" not in pod(converted(tensorflow({"Worker": 1})), "worker")["containers"][0]

    def test_ports_are_those_of_the_template(self) -> None:
        obj = tensorflow({"Worker": 2}, ports=[{"name": "tfjob-port", "containerPort": 4000}])
        assert (
            "job-worker-0-1.job.team.svc:4000" in variables(pod(converted(obj), "worker")["containers"][0])["TF_CONFIG"]
        )

    def test_without_a_namespace_hosts_have_none(self) -> None:
        obj = tensorflow({"Worker": 2})
        del obj["metadata"]["namespace"]
        assert '"job-worker-0-1.job:2222"' in variables(pod(converted(obj), "worker")["containers"][0])["TF_CONFIG"]

    def test_dynamic_workers_keep_their_view_but_not_their_number(self) -> None:
        obj = tensorflow({"Worker": 2, "PS": 1})
        obj["spec"]["enableDynamicWorker"] = True
        conversion = converted(obj)
        assert conversion.verdict is Verdict.NEEDS_WORK
        config = variables(pod(conversion, "worker")["containers"][0])["TF_CONFIG"].replace("$(TF_TASK_INDEX)", "1")
        assert json.loads(config)["cluster"]["worker"] == {"1": "job-worker-0-1.job.team.svc:2222"}

    def test_a_cluster_of_the_users_own_is_dropped_as_in_v1(self) -> None:
        conversion = converted(tensorflow({"Worker": 2}, env=[{"name": "TF_CONFIG", "value": "{}"}]))
        assert rules(conversion)["MIG105"]


class TestXGBoost:
    def test_a_policy_other_than_that_of_the_master_stays_another(self) -> None:
        obj = xgboost({"Master": 1, "Worker": 2})
        obj["spec"]["xgbReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
        conversion = converted(obj)
        assert replicated_job(conversion, "worker")["template"]["spec"]["podFailurePolicy"]
        assert "podFailurePolicy" not in replicated_job(conversion, "master")["template"]["spec"]

    def test_a_program_with_its_own_tracker_gets_a_plain_runtime(self) -> None:
        conversion = converted(xgboost({"Master": 1}, env=[{"name": "DMLC_TRACKER_URI", "value": "x"}]))
        assert runtime_spec(conversion)["mlPolicy"] == {"numNodes": 1}
        assert variables(pod(conversion)["containers"][0]) == {"DMLC_TRACKER_URI": "x"}

    def test_without_v1s_variables(self) -> None:
        conversion = converted(xgboost({"Master": 1, "Worker": 1}), compat_env=CompatEnv.NEVER)
        assert trainer_env(conversion) == {}
        assert conversion.verdict is Verdict.NEEDS_WORK


class TestPaddle:
    def test_a_shell_gives_the_first_pod_its_own_address(self) -> None:
        conversion = converted(paddle({"Worker": 2}, args=["--lr=1"]))
        main = pod(conversion)["containers"][0]
        assert main["command"][2].splitlines() == [
            'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then PADDLE_MASTER="$POD_IP_DUMMY:36543";'
            " else PADDLE_MASTER=job-node-0-0.job:36543; fi",
            "export PADDLE_MASTER",
            'exec "$@"',
        ]
        assert main["args"] == ["python", "train.py", "--lr=1"]
        env = variables(main)
        assert (env["PADDLE_JOB_ID"], env["PADDLE_NNODES"]) == ("job", "2")
        assert env["POD_IP_DUMMY"] == {"fieldRef": {"fieldPath": "status.podIP"}}

    def test_one_worker_needs_no_shell(self) -> None:
        main = pod(converted(paddle({"Worker": 1})))["containers"][0]
        assert main["command"] == ["python", "train.py"]
        assert variables(main)["PADDLE_MASTER"] == "$(POD_IP_DUMMY):36543"

    @pytest.mark.parametrize("fields", [{"command": None}, {"args": ["$(PADDLE_MASTER)"]}])
    def test_where_no_shell_can_start_it_the_first_worker_is_a_group_of_its_own(self, fields: Json) -> None:
        conversion = converted(paddle({"Worker": 3}, **fields))
        first, other = pod(conversion, "node")["containers"][0], pod(conversion, "others")["containers"][0]
        assert variables(first)["PADDLE_MASTER"] == "$(POD_IP_DUMMY):36543"
        assert variables(other)["PADDLE_MASTER"] == "job-node-0-0.job:36543"
        assert "POD_IP_DUMMY" not in variables(other)
        assert replicated_job(conversion, "others")["template"]["spec"]["parallelism"] == 2
        assert "successPolicy" not in job_set(conversion)

    def test_several_masters_without_a_command_are_rejected(self) -> None:
        assert "no command" in converted(paddle({"Master": 2}, command=None)).rejected


class TestMpi:
    def test_a_command_of_a_worker_runs_beside_the_server(self) -> None:
        obj = mpi()
        obj["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "1d"]
        worker = pod(converted(obj))["containers"][0]
        assert worker["args"] == ["sleep", "1d"]
        assert worker["command"][2].endswith('\nexec "$@"\n')

    def test_a_server_of_the_images_own_stays(self) -> None:
        obj = mpi()
        command = ["/usr/sbin/sshd", "-De"]
        obj["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"] = command
        assert pod(converted(obj))["containers"][0]["command"] == command

    def test_a_launcher_alone_needs_no_policy(self) -> None:
        conversion = converted(mpi(0))
        assert runtime_spec(conversion)["mlPolicy"] == {"numNodes": 1}
        assert "initContainers" not in pod(conversion, "launcher")

    def test_ranks_run_in_the_container_that_the_job_names(self) -> None:
        obj = mpi()
        worker = obj["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        worker["containers"].append({"name": "ranks", "image": "other", "command": ["sleep", "1d"]})
        obj["spec"]["mainContainer"] = "ranks"
        containers = {each["name"]: each for each in pod(converted(obj))["containers"]}
        assert containers.keys() == {"mpi", "node"}
        assert containers["node"]["image"] == "other"
        assert "/usr/sbin/sshd" in containers["node"]["command"][2]

    @pytest.mark.parametrize(("obj", "port"), [(mpi(), "2222"), (xgboost({"Master": 1}), "29500")])
    def test_the_network_of_the_machine_has_each_port_once(self, obj: Json, port: str) -> None:
        field = "mpiReplicaSpecs" if obj["kind"] == "MPIJob" else "xgbReplicaSpecs"
        for replica in obj["spec"][field].values():
            replica["template"]["spec"]["hostNetwork"] = True
        messages = [each.message for each in converted(obj).findings if each.rule.id == "MIG215"]
        assert messages
        assert all(port in each for each in messages)

    def test_what_is_gone_is_reported(self) -> None:
        obj = mpi()
        launcher = obj["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        launcher["args"] = ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
        assert converted(obj).verdict is Verdict.NEEDS_WORK

    @pytest.mark.parametrize("where", ["pod", "container"])
    def test_a_user_who_is_not_root_can_read_the_key(self, where: str) -> None:
        obj = mpi()
        spec = obj["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
        (spec if where == "pod" else spec["containers"][0])["securityContext"] = {"runAsUser": 1000}
        assert pod(converted(obj), "launcher")["securityContext"]["fsGroup"] == 1000


@pytest.mark.parametrize("target", Target)
def test_every_target(target: Target) -> None:
    for obj in (tensorflow({"Worker": 2}), xgboost({"Master": 1}), paddle({"Worker": 2}), mpi()):
        assert not converted(obj, target).rejected
