from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from unit_tests.migration.v2.written import container, objects, rendered, replicated_job, runtime, train_job, variables

from training_migration.targets import Target
from training_migration.v2.denied import Denied
from training_migration.v2.render import render_v2


def mpi_runtime(node: Any = None, launcher: Any = None, nodes: int = 1, **policy: Any) -> Any:
    jobs = [
        replicated_job("node", node or container(), ancestor=""),
        replicated_job("launcher", launcher or container(), dependsOn=[{"name": "node", "status": "Ready"}]),
    ]
    return runtime({"numNodes": nodes, "mpi": policy}, *jobs)


def host_file(rendering: Any) -> Any:
    return next(each for each in objects(rendering, "ConfigMap") if "hostfile" in each["data"])["data"]["hostfile"]


def test_nodes_are_counted_by_the_train_job_and_the_launcher_is_one() -> None:
    rendering = rendered(train_job({"numNodes": 2, "numProcPerNode": 3}), mpi_runtime())
    assert [(pod.role, pod.index) for pod in rendering.pods] == [("node", 0), ("node", 1), ("launcher", 0)]
    assert host_file(rendering) == "job-node-0-0.job slots=3\njob-node-0-1.job slots=3\n"
    assert variables(rendering.pods[2]) == {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": "3",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "JOB_COMPLETION_INDEX": "metadata.labels['batch.kubernetes.io/job-completion-index']",
    }
    assert set(variables(rendering.pods[0])) == {"JOB_COMPLETION_INDEX"}


def test_the_policy_of_the_runtime_counts_launchers() -> None:
    rendering = rendered(train_job({}), mpi_runtime(nodes=2))
    assert [pod.role for pod in rendering.pods] == ["node", "launcher", "launcher"]


@pytest.mark.parametrize(("nodes", "workers"), [(1, 1), (2, 1), (4, 3)])
def test_a_launcher_that_trains_is_one_of_the_nodes_but_never_the_only_one(nodes: int, workers: int) -> None:
    rendering = rendered(train_job({"numNodes": nodes}), mpi_runtime(runLauncherAsNode=True))
    assert [pod.role for pod in rendering.pods] == ["node"] * workers + ["launcher"]
    assert host_file(rendering).splitlines()[-1] == "job-launcher-0-0.job slots=1"


@pytest.mark.parametrize(
    ("stated", "gpus", "given", "slots"),
    [(1, 4, None, 4), (2, 4, None, 2), (1, 1, None, 1), (1, 0, None, 1), (1, 4, 1, 1), (3, 0, 8, 8)],
)
def test_slots(stated: Any, gpus: Any, given: Any, slots: Any) -> None:
    node = container(resources={"limits": {"nvidia.com/gpu": gpus}})
    trainer = {} if given is None else {"numProcPerNode": given}
    rendering = rendered(train_job(trainer), mpi_runtime(node, numProcPerNode=stated))
    assert host_file(rendering) == f"job-node-0-0.job slots={slots}\n"
    assert variables(rendering.pods[1])["OMPI_MCA_orte_set_default_slots"] == str(slots)


def test_keys_and_hosts_are_mounted() -> None:
    node, launcher = (pod.pod["spec"] for pod in rendered(train_job({}), mpi_runtime(sshAuthMountPath="/k")).pods)
    assert node["containers"][0]["volumeMounts"] == [{"name": "mpi-ssh-auth", "mountPath": "/k"}]
    assert [each["mountPath"] for each in launcher["containers"][0]["volumeMounts"]] == ["/k", "/etc/mpi"]
    assert [each["name"] for each in launcher["volumes"]] == ["mpi-ssh-auth", "mpi-hostfile"]
    assert launcher["volumes"][1]["configMap"]["items"] == [{"key": "hostfile", "path": "hostfile", "mode": 0o444}]
    assert node["volumes"] == [
        {
            "name": "mpi-ssh-auth",
            "secret": {
                "secretName": "job-mpi-ssh-auth",
                "defaultMode": 0o400,
                "items": [
                    {"key": "ssh-privatekey", "path": "id_rsa", "mode": 0o640},
                    {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": 0o644},
                    {"key": "ssh-publickey", "path": "authorized_keys", "mode": 0o644},
                ],
            },
        }
    ]


def test_the_trainer_block_reaches_the_launcher_and_the_nodes_only_if_it_trains() -> None:
    trainer = {"image": "other", "env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"cpu": 2}}}
    for launcher_trains in (False, True):
        node, launcher = rendered(train_job(trainer), mpi_runtime(runLauncherAsNode=launcher_trains)).pods
        assert ("A" in variables(node), "A" in variables(launcher)) == (launcher_trains, True)
        assert node.pod["spec"]["containers"][0]["image"] == "registry.example/train:1"
        assert launcher.pod["spec"]["containers"][0]["image"] == "other"
        assert ("resources" in node.pod["spec"]["containers"][0]) == launcher_trains
        assert launcher.pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}}


def test_keys_are_a_pair_and_the_same_for_the_same_job_only_if_asked() -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    secret, again = (objects(rendered(train_job({}), mpi_runtime()), "Secret")[0] for _ in range(2))
    assert secret == again
    private = load_pem_private_key(b64decode(secret["data"]["ssh-privatekey"]), None)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    assert b64decode(secret["data"]["ssh-publickey"]) == public + b"\n"
    assert (secret["type"], secret["immutable"]) == ("kubernetes.io/ssh-auth", True)
    assert public.startswith(b"ecdsa-sha2-nistp521 ")
    by_chance = render_v2(train_job({}), mpi_runtime(), Target.V2_3, fixed_keys=False)
    assert objects(by_chance, "Secret")[0]["data"] != secret["data"]


def test_rejections() -> None:
    variable = {"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "1"}]}
    with pytest.raises(Denied, match="OMPI_MCA_plm_rsh_args"):
        rendered(train_job(variable), mpi_runtime())
    assert rendered(train_job(variable), mpi_runtime(), Target.V2_2)
    alone = runtime({"mpi": {"runLauncherAsNode": True}}, replicated_job("node"))
    assert rendered(train_job({"numNodes": 1}), alone)
    with pytest.raises(Denied, match="must be 1, not 2"):
        rendered(train_job({"numNodes": 2}), alone)
    with pytest.raises(Denied, match="no implementation but OpenMPI"):
        rendered(train_job({}), mpi_runtime(mpiImplementation=""))
