"""MPIJobs over SSH: what their pods, scripts and keys are like."""

from __future__ import annotations

import copy
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.paths import ROOT
from unit_tests.controllers.builders import UID, World, load, stored_job, texts

from training_api.kinds import Job
from training_controllers.frameworks.mpi.framework import owned_objects
from training_controllers.frameworks.mpi.ssh_keys import key_pair, secret_fields
from training_controllers.frameworks.mpi.ssh_pods import files
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_owned_object, build_pod

ANNOTATION = "extension.training.kubeflow.org/mpi-launch"
LAUNCHER, WORKER = Slot("Launcher", 0), Slot("Worker", 1)
DEPLOY = [ROOT / "deploy" / folder for folder in ("components/mpi-ssh-all-namespaces", "mpi-ssh-namespace")]


def ssh_job(**worker: Any) -> Job:
    """A job whose workers' container has the fields `worker`."""
    stored = copy.deepcopy(stored_job("MPIJob", {"Launcher": 1, "Worker": 2}))
    stored["metadata"]["annotations"] = {ANNOTATION: "ssh"}
    stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0] |= worker
    return load("MPIJob", stored)


def pod_of(job: Job, slot: Slot) -> dict[str, Any]:
    spec: dict[str, Any] = build_pod(job, frameworks()["MPIJob"], NewPod(slot))["spec"]
    return spec


def test_beside_the_pods_there_is_nothing_that_enters_pods() -> None:
    job = ssh_job()
    config, network, keys = (
        build_owned_object(job, each, random.Random(1).randbytes)
        for each in owned_objects(job, {})
        if not each.existing_only
    )
    assert [each["kind"] for each in (config, network, keys)] == ["ConfigMap", "Service", "Secret"]
    assert sorted(config["data"]) == [
        "discover_hosts.sh",
        "hostfile",
        "session.sh",
        "ssh.sh",
        "ssh_config",
        "sshd.sh",
        "sshd_config",
    ]
    assert config["data"]["hostfile"] == "sim-worker-0 slots=1\nsim-worker-1 slots=1\n"
    assert network["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {
            "training.kubeflow.org/operator-name": "mpijob-controller",
            "training.kubeflow.org/job-name": "sim",
        },
    }
    assert (keys["metadata"]["name"], keys["type"], keys["immutable"]) == (
        f"sim-mpi-{UID}",
        "kubernetes.io/ssh-auth",
        True,
    )
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in (config, network, keys)} == {UID}


@pytest.mark.parametrize(
    ("slot", "scripts", "keys"),
    [
        (
            LAUNCHER,
            {"ssh.sh": 0o555, "ssh_config": 0o444, "hostfile": 0o444, "discover_hosts.sh": 0o555},
            {"ssh-privatekey": "ssh-privatekey", "known_hosts": "known_hosts"},
        ),
        (
            WORKER,
            {"ssh.sh": 0o555, "sshd.sh": 0o555, "sshd_config": 0o444, "session.sh": 0o555},
            {"ssh-hostkey": "ssh-hostkey", "ssh-publickey": "authorized_keys"},
        ),
    ],
)
def test_each_side_gets_its_own_scripts_and_its_own_half_of_the_keys(
    slot: Slot, scripts: dict[str, int], keys: dict[str, str]
) -> None:
    spec = pod_of(ssh_job(), slot)
    own = [{"key": name, "path": name, "mode": mode} for name, mode in scripts.items()]
    half = [{"key": key, "path": path, "mode": 0o444} for key, path in keys.items()]
    assert spec["volumes"] == [
        {"name": "mpi-job-config", "configMap": {"name": "sim-config", "items": own}},
        {"name": "mpi-job-keys", "secret": {"secretName": f"sim-mpi-{UID}", "items": half}},
        {"name": "mpi-job-memory", "emptyDir": {"medium": "Memory"}},
    ]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
        {"name": "mpi-job-keys", "mountPath": "/etc/mpi-keys", "readOnly": True},
        {"name": "mpi-job-memory", "mountPath": "/run/mpi"},
    ]


@pytest.mark.parametrize("replica_type", ["Launcher", "Worker"])
def test_what_the_user_has_given_a_pod_comes_first_and_stays(replica_type: str) -> None:
    stored = copy.deepcopy(stored_job("MPIJob", {"Launcher": 1, "Worker": 2}))
    stored["metadata"]["annotations"] = {ANNOTATION: "ssh"}
    template = stored["spec"]["mpiReplicaSpecs"][replica_type]["template"]["spec"]
    mount, volume, proxy = {"name": "data", "mountPath": "/data"}, {"name": "data", "emptyDir": {}}, {"name": "proxy"}
    given = {"name": "OMPI_MCA_plm_rsh_no_tree_spawn", "value": "0"}
    main = template["containers"][0] | {"volumeMounts": [mount], "env": [given]}
    template |= {"hostNetwork": True, "volumes": [volume], "containers": [main, proxy]}
    spec = pod_of(load("MPIJob", stored), Slot(replica_type, 0))
    assert (spec["hostNetwork"], spec["volumes"][0], spec["containers"][1]) == (True, volume, proxy)
    assert (len(spec["volumes"]), len(spec["containers"][0]["volumeMounts"])) == (4, 4)
    assert spec["containers"][0]["volumeMounts"][0] == mount
    named = [each for each in spec["containers"][0]["env"] if each["name"] == given["name"]]
    assert named == [given]


def test_the_launcher_has_no_account_of_ours_and_no_kubectl() -> None:
    spec = pod_of(ssh_job(), LAUNCHER)
    assert "serviceAccountName" not in spec
    assert "initContainers" not in spec
    variables = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
    assert variables == {
        "OMPI_MCA_plm_rsh_agent": "/etc/mpi/ssh.sh",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "NVIDIA_VISIBLE_DEVICES": None,
        "NVIDIA_DRIVER_CAPABILITIES": None,
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/ssh.sh",
        "PRTE_MCA_plm_ssh_agent": "/etc/mpi/ssh.sh",
        "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
    }


def test_a_worker_has_a_name_and_runs_the_daemon_unless_it_has_a_command() -> None:
    spec = pod_of(ssh_job(args=["lost"]), WORKER)
    assert (spec["hostname"], spec["subdomain"]) == ("sim-worker-1", "sim-mpi")
    assert (spec["containers"][0]["command"], spec["containers"][0]["args"]) == (["/etc/mpi/sshd.sh"], [])
    kept = pod_of(ssh_job(command=["own"], args=["x"]), WORKER)["containers"][0]
    assert (kept["command"], kept["args"]) == (["own"], ["x"])


def test_keys_are_those_of_their_seed_and_never_shown() -> None:
    first, again, other = (secret_fields(random.Random(seed).randbytes)["stringData"] for seed in (1, 1, 2))
    assert first["ssh-publickey"] == again["ssh-publickey"] != other["ssh-publickey"]
    assert first["known_hosts"].removeprefix("worker ") != first["ssh-publickey"]
    assert "KEY" not in repr(owned_objects(ssh_job(), {}))


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_openssh_understands_the_keys(tmp_path: Path) -> None:
    private, public = key_pair(bytes(32))
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(private)
    shown = subprocess.run(["ssh-keygen", "-y", "-f", file], check=True, capture_output=True, text=True).stdout
    assert shown.split() == public.split()


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs OpenSSH")
def test_openssh_reads_the_client_s_configuration(tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(files(ssh_job(), {})["ssh_config"])
    shown = subprocess.run(
        ["ssh", "-G", "-F", config, "sim-worker-1"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    wanted = {
        "hostname sim-worker-1.sim-mpi",
        "port 2222",
        "hostkeyalias worker",
        "stricthostkeychecking true",
        "batchmode yes",
    }
    assert wanted <= set(shown)


@pytest.mark.parametrize(
    ("annotations", "complaints"),
    [
        ({}, []),
        ({ANNOTATION: "ssh"}, []),
        ({ANNOTATION: "exec", "note": "mine"}, []),
        (
            {"an.example.com/other": "theirs", ANNOTATION: "SSH"},
            [f'Warning BadAnnotation annotation {ANNOTATION}: \'SSH\' must be "exec" or "ssh"; "exec" applies'],
        ),
        (
            {f"{ANNOTATION}er": "ssh"},
            [
                f"Warning BadAnnotation annotation {ANNOTATION}er has no effect: "
                "with this prefix MPIJobs support disruptions, gang-scheduling, mpi-launch, restart-scope"
            ],
        ),
    ],
)
def test_what_the_annotation_may_say(annotations: dict[str, str], complaints: list[str]) -> None:
    stored = copy.deepcopy(stored_job("MPIJob", {"Launcher": 1, "Worker": 2}))
    stored["metadata"]["annotations"] = annotations
    w = World(stored, "MPIJob")
    events = [each for each in texts(w.decide().events) if "BadAnnotation" in each]
    assert events == complaints
    kinds = {change.kind for change in w.decide().owned_changes}
    assert ("Secret" in kinds, "Role" in kinds) == (
        (True, False) if annotations == {ANNOTATION: "ssh"} else (False, True)
    )


def test_another_kind_does_not_know_it() -> None:
    stored = copy.deepcopy(stored_job("JAXJob", {"Worker": 1}))
    stored["metadata"]["annotations"] = {ANNOTATION: "ssh"}
    (event,) = [each for each in texts(World(stored, "JAXJob").decide().events) if "BadAnnotation" in each]
    assert event.endswith("with this prefix JAXJobs support disruptions, gang-scheduling, restart-scope")


@pytest.mark.parametrize("folder", DEPLOY, ids=lambda folder: folder.name)
def test_the_permission_that_is_deployed_can_only_create(folder: Path) -> None:
    rules = [
        rule
        for file in sorted(folder.glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
        for rule in document.get("rules", [])
    ]
    assert rules == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
    named = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(named) == sorted(file.name for file in folder.glob("*.yaml") if file.name != "kustomization.yaml")


def test_a_job_without_it_is_told_what_to_apply() -> None:
    (advice,) = {each.kind.advice for each in owned_objects(ssh_job(), {})} - {""}
    named = re.findall(r"deploy/[\w/-]+", advice)
    assert len(named) == 2
    assert all((ROOT / folder / "kustomization.yaml").exists() for folder in named)
