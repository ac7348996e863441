"""Each rule on runtimes and TrainJobs finds what it is for, and does not find what is like it."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.migration.lint.jobs import Json, documents, node, runtime, train_job

from training_migration.findings import Finding, Severity
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.v2.lint import lint_v2
from training_migration.lint.v2.subject import RUNTIMES, TRAIN_JOBS
from training_migration.targets import Target

TORCH = {"numNodes": 2, "torch": {}}
XGBOOST = {"numNodes": 2, "xgboost": {}}
GPUS = {"limits": {"nvidia.com/gpu": "2"}}
PYTHON = ["python3", "train.py"]
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
RANKS: list[Json] = [
    {"name": "MASTER_ADDR", "value": "job-node-0-0.job"},
    {"name": "MASTER_PORT", "value": "29500"},
    {"name": "WORLD_SIZE", "value": "2"},
    {"name": "RANK", "valueFrom": INDEX},
]
RANK_OF_ONE = [*RANKS[:2], {"name": "WORLD_SIZE", "value": "1"}, {"name": "RANK", "value": "0"}]
Case = tuple[list[Json], Target]


def case(*objects: Json, target: Target = Target.V2_3) -> Case:
    return list(objects), target


def torch(trainer: Json | None, *, policy: Json | None = None, nodes: Json | None = None, **spec: Any) -> Case:
    """A TrainJob on a torch runtime of two nodes."""
    return case(runtime(policy or TORCH, nodes or node()), train_job(trainer, **spec))


def started(command: list[str], **trainer: Any) -> Json:
    return {"command": command, "numProcPerNode": 1, **trainer}


def labelled(policy: Json) -> Json:
    made = runtime(policy)
    return made | {"metadata": {**made["metadata"], "labels": {"trainer.kubeflow.org/framework": "torch"}}}


def mpi(policy: Json | None = None, *, trainer: Json | None = None, number: int = 1, nodes: Json | None = None) -> Case:
    jobs = (nodes or node(label=False), node(name="launcher", command=["mpirun"]))
    made = runtime({"numNodes": number, "mpi": policy or {}}, *jobs)
    return case(made, train_job({"numNodes": 2, **(trainer or {})}))


def patch(**container: Any) -> Json:
    return patched({"containers": [{"name": "node", **container}]})


def patched(pod: Json) -> Json:
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    return {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def of_pod(**pod: Any) -> Case:
    return case(runtime(TORCH, node(pod=pod)))


LAUNCHED = ["torchrun", "train.py"]
V2_1, V2_2, NEXT = Target.V2_1, Target.V2_2, Target.NEXT
LABEL = {"fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}}

CASES: dict[str, tuple[list[Case], list[Case]]] = {
    "MIG002": (
        [
            case(train_job({}, activeDeadlineSeconds=9), target=V2_1),
            case(train_job({}, managedBy="kueue.x-k8s.io/multikueue"), target=V2_2),
            case(runtime({"jax": {}}), target=V2_1),
            case(runtime({"torch": {"envInjection": {"targets": []}}}), target=V2_2),
        ],
        [
            case(train_job({}, activeDeadlineSeconds=9, managedBy="kueue.x-k8s.io/multikueue")),
            case(runtime({"jax": {}})),
            case(runtime({"torch": {"envInjection": {"targets": []}}})),
            case(runtime({"numNodes": 2}), target=V2_1),
        ],
    ),
    "MIG003": (
        [
            case(runtime(TORCH), train_job({"numNodes": 11}, name="n" * 48)),
            case(runtime(TORCH), train_job({}, name="n" * 49)),
        ],
        [case(runtime(TORCH), train_job({"numNodes": 10}, name="n" * 48)), case(train_job({}, name="n" * 60))],
    ),
    "MIG101": (
        [
            torch(started(PYTHON)),
            torch(started(PYTHON, env=RANKS[:3])),
            torch(started(PYTHON, env=[*RANKS[:3], {"name": "RANK", "value": "0"}])),
            torch(started(PYTHON, env=[*RANKS[:2], {"name": "WORLD_SIZE", "value": "1"}, RANKS[3]])),
            torch({"numProcPerNode": 1}, nodes=node(command=PYTHON)),
            torch(started(["torchrun", "--nnodes=1", "train.py"])),
            torch(started(["sh", "-c", "exec torchrun --standalone train.py"])),
            case(runtime({"numNodes": 2}), train_job(started(LAUNCHED))),
            case(labelled({"numNodes": 2}), train_job(started(PYTHON))),
        ],
        [
            torch(started(PYTHON, env=RANKS)),
            torch(started(PYTHON, env=RANK_OF_ONE, numNodes=1)),
            torch(started(LAUNCHED)),
            torch(started(["bash", "-c", "cd /app && torchrun train.py"])),
            torch(started(["bash", "-c", "RANK=$PET_NODE_RANK WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1 python t.py"])),
            torch({"numProcPerNode": 1}, nodes=node(command=PYTHON, env=RANKS)),
            case(runtime({"numNodes": 2}), train_job(started(PYTHON))),
            case(labelled({"numNodes": 2}), train_job(started(PYTHON, env=RANKS))),
            torch(started(["torchrun", "--nnodes=1:4", "train.py"])),
            torch(started(["torchrun", "--standalone", "train.py"], numNodes=1)),
            case(runtime({"numNodes": 2}), train_job(started(["torchrun", "--nnodes=2", "--node-rank=$(I)", "x"]))),
            case(runtime({"numNodes": 2}), train_job(started(LAUNCHED, env=[{"name": "PET_NNODES", "value": "2"}]))),
            case(runtime({}), train_job(started(LAUNCHED))),
        ],
    ),
    "MIG104": (
        [
            torch(started(LAUNCHED, env=[{"name": "PET_NNODES", "value": "2"}])),
            case(runtime(XGBOOST), train_job({"env": [{"name": "DMLC_TASK_ID", "value": "0"}]})),
            mpi(trainer={"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]}),
        ],
        [
            torch(started(LAUNCHED, env=[{"name": "PET_RDZV_BACKEND", "value": "c10d"}, *RANKS])),
            case(*mpi(trainer={"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]})[0], target=V2_2),
        ],
    ),
    "MIG105": (
        [case(runtime({"jax": {}}), train_job({"env": [{"name": "JAX_PROCESS_ID", "value": "0"}]}))],
        [case(runtime({"jax": {}}), train_job({"env": [{"name": "PROCESS_ID", "value": "0"}]}))],
    ),
    "MIG109": (
        [torch({"command": LAUNCHED})],
        [
            torch(started(LAUNCHED)),
            torch({"command": PYTHON}),
            torch({"command": LAUNCHED}, nodes=node(resources=GPUS)),
            torch({"command": LAUNCHED, "resourcesPerNode": GPUS}),
        ],
    ),
    "MIG110": (
        [torch({"command": LAUNCHED, "resourcesPerNode": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}})],
        [
            torch(started(LAUNCHED, resourcesPerNode={"limits": {"nvidia.com/mig-1g.5gb": "1"}})),
            torch({"command": LAUNCHED, "resourcesPerNode": GPUS}),
        ],
    ),
    "MIG111": (
        [torch(started(PYTHON, numProcPerNode=2))],
        [torch(started(PYTHON)), torch(started(LAUNCHED, numProcPerNode=2))],
    ),
    "MIG112": (
        [torch({"numNodes": 2}), torch(started(["/entrypoint"]))],
        [
            torch(started(LAUNCHED)),
            torch(started(PYTHON)),
            case(runtime({"jax": {}}), train_job(started(["/entrypoint"]))),
        ],
    ),
    "MIG113": (
        [
            torch(started(LAUNCHED), nodes=node(args=["--old"])),
            torch({"args": ["--new"]}, nodes=node(command=LAUNCHED)),
        ],
        [torch(started(["torchrun"], args=["new.py"]), nodes=node(args=["--old"])), torch(started(LAUNCHED))],
    ),
    "MIG114": (
        [
            torch(started(LAUNCHED, env=[{"name": "X", "value": "$(PET_NODE_RANK)"}])),
            torch(started(LAUNCHED, env=[{"name": "X", "value": "job-$(JOB_COMPLETION_INDEX)"}])),
        ],
        [
            torch(started(LAUNCHED, args=["--x=$(PET_NODE_RANK)"])),
            torch(started(LAUNCHED, env=[{"name": "Y", "valueFrom": INDEX}, {"name": "X", "value": "job-$(Y)"}])),
        ],
    ),
    "MIG115": ([torch(started(["accelerate", "launch", "train.py"]))], [torch(started(LAUNCHED))]),
    "MIG208": ([mpi(number=2)], [mpi(), torch(started(LAUNCHED))]),
    "MIG209": ([mpi({"mpiImplementation": "Intel"})], [mpi({"mpiImplementation": "OpenMPI"}), mpi()]),
    "MIG210": (
        [mpi({"runLauncherAsNode": True}, trainer={"numNodes": 1})],
        [mpi({"runLauncherAsNode": True}), mpi(trainer={"numNodes": 1})],
    ),
    "MIG212": ([mpi({"runLauncherAsNode": True})], [mpi(), mpi({"runLauncherAsNode": False})]),
    "MIG213": (
        [case(runtime(XGBOOST, node(resources=GPUS)), train_job({}))],
        [case(runtime(XGBOOST), train_job({})), torch(started(LAUNCHED), nodes=node(resources=GPUS))],
    ),
    "MIG214": (
        [case(runtime({"numNodes": 2}), train_job({"env": [{"name": "PADDLE_MASTER", "value": "a:1"}]}))],
        [case(runtime({"numNodes": 1}), train_job({"env": [{"name": "PADDLE_MASTER", "value": "a:1"}]}))],
    ),
    "MIG215": (
        [of_pod(hostNetwork=True)],
        [of_pod(hostNetwork=False), case(runtime(None, node(pod={"hostNetwork": True})))],
    ),
    "MIG216": (
        [case(runtime(TORCH, node(ports=[{"containerPort": 80}])))],
        [
            case(runtime(TORCH, node(ports=[{"containerPort": 80, "name": "http"}]))),
            case(runtime({"numNodes": 2}, node(ports=[{"containerPort": 80}]))),
        ],
    ),
    "MIG223": (
        [case(runtime({"numNodes": 2}, node(ports=[{"containerPort": 80}, {"containerPort": 81}])))],
        [
            case(runtime({"numNodes": 2}, node(ports=[{"containerPort": 80}, {"containerPort": 81, "name": "b"}]))),
            case(runtime(None, node(ports=[{"containerPort": 80}, {"containerPort": 81}])), target=NEXT),
        ],
    ),
    "MIG217": (
        [case(runtime(TORCH, network={"subdomain": "other"}))],
        [
            case(runtime(TORCH, network={"publishNotReadyAddresses": True})),
            case(runtime({"numNodes": 2}, network={"subdomain": "x"})),
        ],
    ),
    "MIG218": ([of_pod(hostname="x")], [of_pod(hostNetwork=True)]),
    "MIG220": (
        [of_pod(containers=[{"name": "tb", "args": ["--rank=$(PET_NODE_RANK)"]}])],
        [
            of_pod(containers=[{"name": "tb", "args": ["--logdir=/logs"]}]),
            case(
                runtime(
                    {"torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["tb"]}]}}},
                    node(pod={"containers": [{"name": "tb", "args": ["--rank=$(PET_NODE_RANK)"]}]}),
                )
            ),
        ],
    ),
    "MIG221": (
        [of_pod(containers=[{"name": "tb"}])],
        [of_pod(initContainers=[{"name": "tb", "restartPolicy": "Always"}])],
    ),
    "MIG401": (
        [case(runtime(TORCH, node(env=[{"name": "I", "valueFrom": LABEL}])))],
        [case(runtime(TORCH, node(env=[{"name": "I", "valueFrom": INDEX}])))],
    ),
    "MIG501": (
        [torch(None), case(runtime({"jax": {}}), train_job(None))],
        [torch({}), case(runtime({"numNodes": 2}), train_job(None))],
    ),
    "MIG502": (
        [case(runtime(None), train_job({"resourcesPerNode": GPUS}))],
        [
            case(runtime({"numNodes": 2}), train_job({"resourcesPerNode": GPUS})),
            case(runtime(None), train_job({"resourcesPerNode": GPUS}), target=V2_2),
            case(runtime(None), train_job({})),
        ],
    ),
    "MIG503": (
        [case(runtime({"torch": {"numProcPerNode": 2}})), case(runtime({"torch": {"elasticPolicy": {}}}), target=V2_2)],
        [case(runtime({"torch": {"numProcPerNode": 2}}), target=V2_1), case(runtime({"mpi": {"numProcPerNode": 2}}))],
    ),
    "MIG504": (
        [
            case(train_job({}, podSpecOverrides=[])),
            case(train_job({}, podTemplateOverrides=[])),
            case(train_job({}, labels={})),
            case(train_job({}, runtimePatches=[]), target=V2_1),
        ],
        [
            case(train_job({}, runtimePatches=[])),
            case(train_job({}, podTemplateOverrides=[], labels={}), target=V2_1),
            case(train_job({}, podSpecOverrides=[]), target=Target.V2_0),
        ],
    ),
    "MIG505": (
        [
            torch({}, runtimePatches=[patch(env=[{"name": "A", "value": "b"}])]),
            torch({}, runtimePatches=[patch(image="x")]),
            torch({}, runtimePatches=[patched({"containers": [{"name": "new"}]})]),
            torch({}, runtimePatches=[patched({"restartPolicy": "Never"})]),
        ],
        [
            torch({}, runtimePatches=[patch(volumeMounts=[{"name": "a", "mountPath": "/a"}])]),
            torch({}, runtimePatches=[patched({"nodeSelector": {"a": "b"}, "volumes": []})]),
        ],
    ),
    "MIG507": (
        [
            case(runtime(TORCH, {**node(), "replicas": 2})),
            case(runtime(TORCH, {**node(), "template": {**node()["template"], "spec": {"template": {"spec": {}}}}})),
        ],
        [case(runtime(TORCH, {**node(), "replicas": 1})), case(runtime(TORCH, {**node(label=False), "replicas": 2}))],
    ),
    "MIG508": (
        [
            case(runtime(TORCH, ttlSecondsAfterFinished=60)),
            case(runtime(TORCH, ttlSecondsAfterFinished=0), target=V2_1),
        ],
        [case(runtime(TORCH)), case(runtime(TORCH, ttlSecondsAfterFinished=60), target=NEXT)],
    ),
    "MIG509": (
        [
            mpi({"numProcPerNode": 1}, nodes=node(label=False, resources=GPUS)),
            mpi(nodes=node(label=False, resources=GPUS)),
        ],
        [
            mpi({"numProcPerNode": 2}, nodes=node(label=False, resources=GPUS)),
            mpi(trainer={"numProcPerNode": 1}, nodes=node(label=False, resources=GPUS)),
            mpi({"numProcPerNode": 1}),
        ],
    ),
    "MIG510": (
        [
            case(runtime({"numNodes": 2}, node(job_spec={"parallelism": 4}))),
            case(runtime({}, node(job_spec={"parallelism": 4}))),
        ],
        [
            case(runtime({"numNodes": 2}, node(job_spec={"parallelism": 2}))),
            case(runtime(None, node(job_spec={"parallelism": 4}))),
            case(runtime({"numNodes": 2}, node(label=False, job_spec={"parallelism": 4}))),
        ],
    ),
    "MIG511": (
        [
            case(train_job({})),
            case(runtime(TORCH, name="other"), train_job({})),
            case(runtime(None, node(label=False)), train_job({})),
        ],
        [torch({}), case(train_job({}, runtimeRef={"name": "torch-distributed"}))],
    ),
    "MIG103": (
        [torch(started(["bash", "-c", "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK train.py"]))],
        [
            torch(started(["bash", "-c", "torchrun --nnodes=$PET_NNODES train.py"])),
            torch(started(["bash", "-c", "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK train.py"], env=RANKS)),
        ],
    ),
    "MIG107": (
        [torch(started(LAUNCHED, args=["--peer=job-worker-0"]))],
        [torch(started(LAUNCHED, args=["--peer=job-node-0-0"]))],
    ),
}
BY_SCRIPTS = {"MIG103", "MIG107"}


def found_in(given: Case) -> list[Finding]:
    objects, target = given
    return lint_v2(documents(*objects), target)


@pytest.mark.parametrize("rule", sorted(CASES))
def test_it_is_found_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = CASES[rule]
    assert yes and no
    found = [rule in {each.rule.id for each in found_in(given)} for given in (*yes, *no)]
    assert found == [True] * len(yes) + [False] * len(no)


def test_every_rule_on_runtimes_and_train_jobs_is_here() -> None:
    assert RUNTIMES.rules | TRAIN_JOBS.rules == CASES.keys() - BY_SCRIPTS
    assert SCRIPTS.rules >= BY_SCRIPTS


def naive(command: list[str], nodes: int = 2) -> Case:
    """What copying image and command of a PyTorchJob gives."""
    trainer = {"numNodes": nodes, "image": "example.com/mnist", "command": command}
    return case(train_job(trainer, runtimeRef={"name": "torch-distributed"}))


def one(rule: str, given: Case) -> Finding:
    (found,) = (each for each in found_in(given) if each.rule.id == rule)
    return found


def test_the_naive_conversion_is_an_error_without_any_runtime_at_hand() -> None:
    alone = one("MIG101", naive(["python3", "mnist.py"]))
    assert (alone.level, alone.path, alone.source, alone.line) == (Severity.ERROR, "spec.trainer.command", "0.yaml", 1)
    assert alone.message == (
        "python does not read PET_*, and MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK are not set: each of the 2 nodes"
        " trains alone."
    )
    assert one("MIG101", naive(["python3", "mnist.py"], 1)).level is Severity.WARNING, "one node may train alone"


def test_scripts_that_set_the_variables_do() -> None:
    given, target = naive(["python3", "mnist.py"])
    for names, found in ((["RANK"], True), ([each["name"] for each in RANKS], False)):
        text = "import os\n" + "".join(f'os.environ["{name}"] = os.environ["PET_X"]\n' for name in names)
        ids = {each.rule.id for each in lint_v2(documents(*given), target, scripts=[("mnist.py", text)])}
        assert ("MIG101" in ids) is found


def test_a_script_shows_that_a_runtime_without_a_policy_trains_with_torch() -> None:
    given = documents(runtime({"numNodes": 2}), train_job(started(PYTHON)))
    for text, found in (("import torch", True), ("import tensorflow", False)):
        ids = {each.rule.id for each in lint_v2(given, Target.V2_3, scripts=[("train.py", text)])}
        assert ("MIG101" in ids) is found


def test_arguments_of_a_shared_runtimes_program_are_only_worth_knowing() -> None:
    assert one("MIG113", torch({"args": ["--new"]}, nodes=node(command=LAUNCHED))).level is Severity.INFO
