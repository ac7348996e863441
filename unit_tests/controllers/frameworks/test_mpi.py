"""MPIJob: config map, roles, pods, status rules."""

from __future__ import annotations

import copy
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import World, load, make_job, stored_job, world

from training_api.kinds import Job
from training_controllers.frameworks.mpi.framework import MPIOptions
from training_controllers.frameworks.mpi.objects import discover_hosts, files, hostfile, owned_objects, rules
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.model.owned_objects import PolicyRule
from training_controllers.model.plan import NewPod, OwnedVerb, Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_owned_object, build_pod

BOTH = {"Launcher": 1, "Worker": 2}
LAUNCHER, WORKER = Slot("Launcher", 0), Slot("Worker", 0)


def job_with(
    replicas: dict[str, int], *, name: str = "sim", launcher: dict[str, Any] | None = None, **spec: Any
) -> Job:
    """A job whose launcher's container has the fields `launcher`."""
    stored = copy.deepcopy(stored_job("MPIJob", replicas, name=name, **spec))
    stored["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0] |= launcher or {}
    return load("MPIJob", stored)


def pod_of(job: Job, slot: Slot, options: FrameworkOptions | None = None) -> dict[str, Any]:
    return build_pod(job, frameworks(options)["MPIJob"], NewPod(slot))


def env_of(job: Job) -> list[tuple[str, str]]:
    return [(each["name"], each.get("value", "")) for each in pod_of(job, LAUNCHER)["spec"]["containers"][0]["env"]]


GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
M1_ENV = [
    ("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh"),
    ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
    ("NVIDIA_VISIBLE_DEVICES", ""),
    ("NVIDIA_DRIVER_CAPABILITIES", ""),
    ("I_MPI_HYDRA_BOOTSTRAP", "rsh"),
    ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh"),
    ("PRTE_MCA_plm_ssh_agent", "/etc/mpi/kubexec.sh"),
    ("PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile"),
]


def running_job(replicas: dict[str, int], *running: str, **spec: Any) -> World:
    w = world("MPIJob", replicas, **spec).settle()
    if running:
        w.set_pods("Running", *running)
    return w


def slots_of(w: World) -> dict[Slot, Any]:
    return {Slot(pod.replica_type.capitalize(), max(pod.index, 0)): pod for pod in w.pods.values()}


@pytest.mark.shows("MPI-018", "MPI-031", "MPI-032", "MPI-033")
def test_hostfile_scripts_and_environment_without_gpus() -> None:
    job = job_with(BOTH, name="tensorflow-mnist")
    assert files(job, {}) == {
        "hostfile": "tensorflow-mnist-worker-0 slots=1\ntensorflow-mnist-worker-1 slots=1\n",
        "kubexec.sh": '#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*"',
        "discover_hosts.sh": "#!/bin/sh",
    }
    assert env_of(job) == M1_ENV


@pytest.mark.shows("MPI-019", "MPI-020", "MPI-023", "MPI-026")
def test_a_launcher_with_gpus_is_a_host_itself() -> None:
    user = {"env": [{"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "ssh"}], **GPU}
    job = job_with({"Launcher": 1, "Worker": 3}, launcher=user, slotsPerWorker=4, mainContainer="trainer")
    w = running_job({"Launcher": 1, "Worker": 3}, "sim-worker-0", "sim-worker-1", "sim-worker-2")
    assert hostfile(job) == "sim-launcher slots=4\n" + "".join(f"sim-worker-{i} slots=4\n" for i in range(3))
    assert discover_hosts(job, slots_of(w)) == (
        "#!/bin/sh\necho sim-launcher:4\n\necho sim-worker-0:4\necho sim-worker-1:4\necho sim-worker-2:4"
    )
    assert files(job, {})["kubexec.sh"].splitlines()[-1] == (
        '/opt/kube/kubectl exec ${POD_NAME} --container trainer -- /bin/sh -c "$*"'
    )
    assert [name for name, _ in env_of(job)] == [
        "I_MPI_HYDRA_BOOTSTRAP",
        "OMPI_MCA_plm_rsh_agent",
        "OMPI_MCA_orte_default_hostfile",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC",
        "PRTE_MCA_plm_ssh_agent",
        "PRTE_MCA_prte_default_hostfile",
    ]


@pytest.mark.parametrize(
    ("daemon", "hosts"),
    [
        pytest.param("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile", id="Open MPI 4.1"),
        pytest.param("PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_default_hostfile", id="Open MPI 5"),
        pytest.param("I_MPI_HYDRA_BOOTSTRAP_EXEC", None, id="Intel MPI"),
    ],
)
def test_an_implementation_is_told_by_its_variables(daemon: str, hosts: str | None) -> None:
    """Intel MPI takes the hosts from its command line only, as with v1."""
    env = dict(env_of(job_with(BOTH)))
    assert env[daemon] == "/etc/mpi/kubexec.sh"
    assert hosts is None or env[hosts] == "/etc/mpi/hostfile"


def test_a_worker_that_is_being_deleted_is_not_discovered() -> None:
    job = job_with(BOTH)
    w = running_job(BOTH, "sim-worker-0", "sim-worker-1")
    w.pods["sim-worker-0"] = msgspec.structs.replace(w.pods["sim-worker-0"], deleting=True)
    assert discover_hosts(job, slots_of(w)) == "#!/bin/sh\necho sim-worker-1:1"


@pytest.mark.parametrize("name", ["PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_default_hostfile"])
def test_what_the_user_says_to_open_mpi_5_counts(name: str) -> None:
    job = job_with(BOTH, launcher={"env": [{"name": name, "value": "mine"}]})
    assert [value for each, value in env_of(job) if each == name] == ["mine"]


@pytest.mark.shows("MPI-016", "MPI-025")
def test_without_workers_the_role_allows_no_exec() -> None:
    job = job_with({"Launcher": 1})
    assert files(job, {})["hostfile"] == ""
    assert files(job, {})["discover_hosts.sh"] == "#!/bin/sh"
    assert [rule["resources"] for rule in rules(job, {})] == [["pods"]]


@pytest.mark.shows("MPI-015")
@pytest.mark.parametrize("change", [{"deleting": True}, {"name": "another"}])
def test_the_role_names_no_pod_that_goes_or_that_has_another_name(change: dict[str, Any]) -> None:
    w = running_job({"Launcher": 1, "Worker": 11})
    w.pods["sim-worker-2"] = msgspec.structs.replace(w.pods["sim-worker-2"], **change)
    _see, enter = rules(job_with({"Launcher": 1, "Worker": 11}), slots_of(w))
    assert enter["resourceNames"] == [f"sim-worker-{index}" for index in range(11) if index != 2]


@pytest.mark.shows("MPI-020", "MPI-021")
@pytest.mark.parametrize(
    ("resource", "counts"),
    [
        ("nvidia.com/gpu", True),
        ("amd.com/gpu", True),
        ("vendor-domain/gpu", True),
        ("vendor-domain/resourcetype", False),
        ("nvidia.com/mig-1g.5gb", False),
        ("cpu", False),
    ],
)
@pytest.mark.parametrize("where", ["limits", "requests"])
def test_gpus_of_the_launcher(resource: str, counts: bool, where: str) -> None:
    job = job_with(BOTH, launcher={"resources": {where: {resource: 1}}})
    assert hostfile(job).startswith("sim-launcher ") is (counts and where == "limits")


@pytest.mark.shows("MPI-024")
def test_only_running_workers_are_discovered_in_textual_order() -> None:
    running = [f"sim-worker-{index}" for index in (0, 2, 10)]
    w = running_job({"Launcher": 1, "Worker": 11}, *running)
    expected = "#!/bin/sh\necho sim-worker-0:1\necho sim-worker-10:1\necho sim-worker-2:1"
    assert discover_hosts(job_with({"Launcher": 1, "Worker": 11}), slots_of(w)) == expected


@pytest.mark.shows("MPI-011", "MPI-012", "MPI-015")
def test_service_account_config_map_role_and_binding() -> None:
    job = make_job("MPIJob", BOTH)
    w = running_job(BOTH, "sim-worker-0", "sim-worker-1")
    built = [build_owned_object(job, each, bytes) for each in owned_objects(job, slots_of(w))]
    assert [(each["kind"], each["metadata"]["name"]) for each in built] == [
        ("ServiceAccount", "sim-launcher"),
        ("ConfigMap", "sim-config"),
        ("Role", "sim-launcher"),
        ("RoleBinding", "sim-launcher"),
    ]
    assert {each["metadata"]["namespace"] for each in built} == {"ns"}
    assert all(each["metadata"]["labels"] == {"app": "sim"} for each in built)
    assert all(each["metadata"]["ownerReferences"][0]["controller"] for each in built)
    assert built[2]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": [""],
            "resources": ["pods/exec"],
            "resourceNames": ["sim-worker-0", "sim-worker-1"],
            "verbs": ["create"],
        },
    ]
    assert list(frameworks()["MPIJob"].permissions) == [PolicyRule("", "pods/exec", ("create",))]
    assert built[3]["subjects"] == [{"kind": "ServiceAccount", "name": "sim-launcher", "namespace": "ns"}]
    assert built[3]["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sim-launcher"}


@pytest.mark.shows("MPI-022")
def test_the_agent_enters_the_pod_of_its_first_argument(tmp_path: Path) -> None:
    script = files(job_with(BOTH, mainContainer="trainer"), {})["kubexec.sh"]
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nfor word; do echo "[$word]"; done\n')
    kubectl.chmod(0o755)
    agent = tmp_path / "kubexec.sh"
    agent.write_text(script.replace("/opt/kube/kubectl", str(kubectl)))
    done = subprocess.run(
        ["sh", agent, "sim-worker-1", "orted", "-mca a", "b"], capture_output=True, text=True, check=True
    )
    expected = ["exec", "sim-worker-1", "--container", "trainer", "--", "/bin/sh", "-c", "orted -mca a b"]
    assert done.stdout.splitlines() == [f"[{word}]" for word in expected]


@pytest.mark.shows("MPI-013", "MPI-014")
def test_the_user_s_service_account() -> None:
    stored = stored_job("MPIJob", BOTH)
    template = stored["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    stored["spec"]["mpiReplicaSpecs"]["Launcher"]["template"] = {"spec": {**template, "serviceAccountName": "mine"}}
    job = load("MPIJob", stored)
    account, _, _, binding = owned_objects(job, {})
    assert (account.name, binding.name) == ("mine", "sim-launcher")
    assert binding.fields["subjects"][0]["name"] == "mine"
    assert pod_of(job, LAUNCHER)["spec"]["serviceAccountName"] == "mine"


@pytest.mark.shows("MPI-011")
def test_objects_and_workers_come_before_the_launcher() -> None:
    w = world("MPIJob", BOTH)
    plan = w.decide()
    assert [change.verb for change in plan.owned_changes] == [OwnedVerb.CREATE] * 4
    assert [new.slot for new in plan.create_pods] == [Slot("Worker", 0), Slot("Worker", 1)]
    assert plan.create_services == ()
    w.settle()
    assert list(w.pods) == ["sim-worker-0", "sim-worker-1", "sim-launcher"]
    assert w.decide().owned_changes == ()


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        ({}, [Slot("Worker", 0), Slot("Worker", 1)]),
        ({"worker-0": "Running"}, [Slot("Worker", 1)]),
        ({"worker-1": "Failed"}, [Slot("Worker", 0)]),
        ({"worker-0": "Pending", "worker-1": "Pending"}, [LAUNCHER]),
        ({"worker-0": "Succeeded", "worker-1": "Pending"}, [LAUNCHER]),
        ({"launcher": "Running", "worker-1": "Running"}, [Slot("Worker", 0)]),
    ],
)
def test_the_launcher_waits_for_every_worker_to_exist_not_to_run(pods: dict[str, str], wanted: list[Slot]) -> None:
    w = world("MPIJob", BOTH, restart="ExitCode").settle()
    for name in [name for name in w.pods if name.removeprefix("sim-") not in pods]:
        w.delete(name)
    for name, phase in pods.items():
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": 137}.get(phase))
    assert [new.slot for new in w.decide().create_pods] == wanted


def test_no_pod_is_created_while_an_object_that_it_needs_goes() -> None:
    w = world("MPIJob", BOTH).settle()
    key = ("ConfigMap", "sim-config")
    w.owned_objects[key] = msgspec.structs.replace(w.owned_objects[key], deleting=True)
    w.delete("sim-worker-0")
    plan = w.decide()
    assert plan.create_pods == ()
    assert plan.status is not None
    assert plan.status.waiting is not None
    assert plan.status.waiting.reason == "Terminating"


def test_a_launcher_without_workers_waits_for_none() -> None:
    for replicas in ({"Launcher": 1}, {"Launcher": 1, "Worker": 0}):
        assert [new.slot for new in world("MPIJob", replicas).decide().create_pods] == [LAUNCHER]


def test_a_launcher_no_longer_waits_for_workers_that_are_scaled_away() -> None:
    w = world("MPIJob", {"Launcher": 1, "Worker": 3})
    w.step()
    w.delete("sim-worker-2")
    assert [new.slot for new in w.decide().create_pods] == [Slot("Worker", 2)]
    w.stored["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 2
    assert [new.slot for new in w.decide().create_pods] == [LAUNCHER]


@pytest.mark.shows("MPI-017", "MPI-038")
def test_scaling_changes_host_list_role_and_pods() -> None:
    w = running_job({"Launcher": 1, "Worker": 3}, "sim-launcher")
    w.stored["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 1
    changes = {change.kind: change for change in w.decide().owned_changes}
    assert {kind: change.verb for kind, change in changes.items()} == {
        "ConfigMap": OwnedVerb.REPLACE,
        "Role": OwnedVerb.REPLACE,
    }
    w.settle()
    assert list(w.pods) == ["sim-worker-0", "sim-launcher"]
    stored = msgspec.json.decode(w.owned_objects["ConfigMap", "sim-config"].content)
    assert stored["hostfile"] == "sim-worker-0 slots=1\n"


@pytest.mark.shows("MPI-027", "MPI-028", "MPI-034")
def test_a_worker_waits_to_be_entered() -> None:
    stored = stored_job("MPIJob", BOTH)
    mains = [{"name": "mpi", "image": "i", "args": ["lost"]}, {"name": "side", "image": "i"}]
    stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": mains}}
    spec = pod_of(load("MPIJob", stored), WORKER)["spec"]
    assert spec["containers"] == [
        {
            "name": "mpi",
            "image": "i",
            "command": ["sleep"],
            "args": ["365d"],
            "volumeMounts": [{"name": "mpi-job-config", "mountPath": "/etc/mpi"}],
        },
        {"name": "side", "image": "i"},
    ]
    items = [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 365}]
    assert spec["volumes"] == [{"name": "mpi-job-config", "configMap": {"name": "sim-config", "items": items}}]


@pytest.mark.shows("MPI-027")
def test_a_worker_s_own_command_is_kept() -> None:
    stored = stored_job("MPIJob", BOTH)
    main = {"name": "mpi", "image": "i", "command": ["sshd"], "args": ["-D"]}
    stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": [main]}}
    container = pod_of(load("MPIJob", stored), WORKER)["spec"]["containers"][0]
    assert (container["command"], container["args"]) == (["sshd"], ["-D"])


@pytest.mark.shows("MPI-029", "MPI-030", "MPI-036")
def test_the_launcher_gets_kubectl_and_the_files() -> None:
    options = FrameworkOptions(mpi=MPIOptions("registry.example.com/delivery:2"))
    pod = pod_of(job_with(BOTH), LAUNCHER, options)
    assert pod["metadata"]["name"] == "sim-launcher"
    labels = pod["metadata"]["labels"]
    assert labels["training.kubeflow.org/job-role"] == "master"
    assert labels["training.kubeflow.org/replica-type"] == "launcher"
    assert "training.kubeflow.org/replica-index" not in labels
    (delivery,) = pod["spec"]["initContainers"]
    resources = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    assert delivery == {
        "name": "kubectl-delivery",
        "image": "registry.example.com/delivery:2",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}, {"name": "NAMESPACE", "value": "ns"}],
        "volumeMounts": [
            {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"},
            {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
        ],
        "resources": {"limits": resources, "requests": resources},
    }
    config = pod["spec"]["volumes"][-1]["configMap"]
    assert [(item["key"], item["mode"]) for item in config["items"]] == [
        ("kubexec.sh", 0o555),
        ("hostfile", 0o444),
        ("discover_hosts.sh", 0o555),
    ]


@pytest.mark.parametrize("slot", [LAUNCHER, Slot("Worker", 0)])
def test_volumes_of_the_template_stay(slot: Slot) -> None:
    job, own = job_with(BOTH), {"name": "own", "emptyDir": {}}
    job.replicas[slot.replica_type].template["spec"]["volumes"] = [own]
    assert pod_of(job, slot)["spec"]["volumes"][0] == own


def test_without_containers_there_is_no_pod() -> None:
    stored = stored_job("MPIJob", BOTH)
    stored["spec"]["mpiReplicaSpecs"]["Worker"]["template"] = {"spec": {"containers": []}}
    with pytest.raises(CannotBuild, match="Worker has no container"):
        pod_of(load("MPIJob", stored), WORKER)
