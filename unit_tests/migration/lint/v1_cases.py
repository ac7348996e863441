"""For each rule on jobs of v1: jobs in which it is found, and jobs that are like them in which it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unit_tests.migration.lint.jobs import OPTIONS, Json, alike, job, pytorch, role

from training_migration.convert.conversion import Options
from training_migration.targets import Target

PYTHON = ["python3", "train.py"]
OLD = Options(Target.V2_1)
GPU = {"limits": {"nvidia.com/gpu": "2"}}
MIG_SLICE = {"limits": {"nvidia.com/mig-1g.5gb": "1"}}
SIDECAR = {"name": "tb", "image": "tb", "args": ["--logdir=/logs"]}
NAMED_PORT = [{"name": "http", "containerPort": 80}]


def workers(kind: str, count: int = 2, **fields: Any) -> Json:
    restart = str(fields.pop("restart", "Never"))
    return job(kind, {"Worker": role(count, restart=restart, **fields)})


def xgboost(**fields: Any) -> Json:
    return job("XGBoostJob", {"Master": role(**fields), "Worker": role(2, **fields)})


def mpi(*, workers: int = 2, launcher: Json | None = None, **fields: Any) -> Json:
    roles = {"Launcher": role(command=["mpirun"], **(launcher or {}))}
    if workers:
        roles["Worker"] = role(workers, **fields)
    return job("MPIJob", roles, slotsPerWorker=1)


def alone(**fields: Any) -> Json:
    return job("PyTorchJob", {"Master": role(**fields)}, nprocPerNode="1")


def elastic(**policy: object) -> Json:
    return job("PyTorchJob", {"Worker": role(2)}, elasticPolicy={"minReplicas": 2, "maxReplicas": 2, **policy})


def generated(begin: str) -> Json:
    return {**pytorch(), "metadata": {"generateName": begin, "namespace": "team"}}


def tensorflow(**roles: Json) -> Json:
    return job("TFJob", roles)


Case = tuple[Json, Options]


def case(given: Json, options: Options = OPTIONS) -> Case:
    return given, options


CASES: dict[str, tuple[list[Case], list[Case]]] = {
    "MIG002": (
        [
            case(workers("JAXJob"), OLD),
            case(pytorch(run={"activeDeadlineSeconds": 9}), OLD),
            case(pytorch(run={"managedBy": "kueue.x-k8s.io/multikueue"}), Options(Target.V2_2)),
        ],
        [
            case(workers("JAXJob")),
            case(pytorch(run={"activeDeadlineSeconds": 9})),
            case(pytorch(run={"managedBy": "kueue.x-k8s.io/multikueue"})),
            case(tensorflow(Worker=role(2)), OLD),
        ],
    ),
    "MIG003": (
        [
            case(pytorch(metadata={"name": "n" * 49})),
            case(pytorch(worker=role(10), metadata={"name": "n" * 48})),
            case(mpi() | {"metadata": {"name": "n" * 45}}),
        ],
        [
            case(pytorch(metadata={"name": "n" * 48})),
            case(pytorch(worker=role(9), metadata={"name": "n" * 48})),
            case(mpi() | {"metadata": {"name": "n" * 44}}),
            case(pytorch(metadata={"name": "n" * 49}), replace(OPTIONS, name="short")),
        ],
    ),
    "MIG009": (
        [case(generated("tune-"))],
        [case(pytorch()), case(generated("tune-"), replace(OPTIONS, name="other"))],
    ),
    "MIG010": (
        [case(pytorch(cleanPodPolicy="Running")), case(pytorch(run={"cleanpodpolicy": "None"}))],
        [case(pytorch()), case(elastic()), case(mpi())],
    ),
    "MIG101": (
        [
            case(alike(command=PYTHON)),
            case(alike(command=["sh", "-c", "cd /app && exec python train.py"])),
            case(alike(command=["python"], args=["-m", "package.train"])),
            case(pytorch(worker=role(2, command=PYTHON))),
        ],
        [
            case(alike()),
            case(alike(command=["python", "-m", "torch.distributed.run", "train.py"])),
            case(alike(command=["bash", "-c", "pip install x; torchrun train.py"])),
            case(job("PyTorchJob", {"Worker": role(2, command=PYTHON)})),
            case(alike(command=["sh", "-c", "export RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=1; python t.py"])),
            case(xgboost(command=PYTHON)),
        ],
    ),
    "MIG104": (
        [
            case(alike(env=[{"name": "PET_NNODES", "value": "2"}])),
            case(xgboost(env=[{"name": "DMLC_TASK_ID", "value": "0"}])),
            case(mpi(launcher={"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "-v"}]})),
        ],
        [
            case(alike(env=[{"name": "PET_RDZV_BACKEND", "value": "c10d"}])),
            case(xgboost(env=[{"name": "PET_NNODES", "value": "2"}])),
            case(mpi(launcher={"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "-v"}]}), Options(Target.V2_2)),
        ],
    ),
    "MIG105": (
        [
            case(alike(env=[{"name": "MASTER_ADDR", "value": "x"}])),
            case(workers("JAXJob", env=[{"name": "JAX_PROCESS_ID", "value": "0"}])),
            case(tensorflow(Worker=role(2, env=[{"name": "TF_CONFIG", "value": "{}"}]))),
        ],
        [
            case(alike(env=[{"name": "PET_NNODES", "value": "2"}])),
            case(workers("JAXJob", env=[{"name": "RANK", "value": "0"}])),
        ],
    ),
    "MIG108": (
        [case(job("PyTorchJob", {"Worker": role(2)}))],
        [case(pytorch()), case(elastic()), case(workers("JAXJob"))],
    ),
    "MIG109": (
        [case(pytorch(nprocPerNode="auto")), case(job("PyTorchJob", {"Master": role(), "Worker": role()}))],
        [
            case(pytorch()),
            case(pytorch(nprocPerNode="gpu")),
            case(alike(command=PYTHON)),
            case(pytorch(nprocPerNode="auto", master=role(resources=GPU), worker=role(resources=GPU))),
        ],
    ),
    "MIG110": (
        [
            case(pytorch(nprocPerNode="auto", master=role(resources=MIG_SLICE))),
            case(xgboost(resources={"limits": {"habana.ai/gaudi": "1"}})),
        ],
        [
            case(pytorch(master=role(resources=MIG_SLICE))),
            case(pytorch(nprocPerNode="auto", master=role(resources=GPU))),
            case(pytorch(nprocPerNode="auto", master=role(resources={"limits": {"rdma/hca": "1"}}))),
        ],
    ),
    "MIG111": (
        [case(pytorch(nprocPerNode=number, master=role(command=PYTHON))) for number in ("2", "4")],
        [case(pytorch(nprocPerNode="4")), case(pytorch(nprocPerNode="1", master=role(command=PYTHON)))],
    ),
    "MIG112": (
        [
            case(alike(command=None)),
            case(alike(command=["/entrypoint"])),
        ],
        [case(alike()), case(alike(command=PYTHON)), case(workers("JAXJob", command=None)), case(mpi(command=None))],
    ),
    "MIG115": (
        [case(alike(command=["accelerate", "launch", "train.py"])), case(alike(command=["deepspeed", "train.py"]))],
        [case(alike()), case(alike(command=["python", "accelerate_example.py"]))],
    ),
    "MIG116": (
        [case(pytorch()), case(workers("JAXJob"))],
        [case(alike(env=[{"name": "PYTHONUNBUFFERED", "value": "1"}])), case(tensorflow(Worker=role(2))), case(mpi())],
    ),
    "MIG117": (
        [case(workers("JAXJob")), case(xgboost()), case(alike(command=["sh", "-c", "start --rank=$RANK"]))],
        [
            case(workers("JAXJob", count=1)),
            case(pytorch()),
            case(alike(command=["torchrun", "train.py", "--rank=$(RANK)"])),
            case(alike(command=["sh", "-c", "RANK=0; start --rank=$RANK"])),
        ],
    ),
    "MIG201": (
        [
            case(pytorch(worker=role(2, command=["torchrun", "other.py"]))),
            case(pytorch(worker=role(2, resources=GPU))),
            case(pytorch(worker=role(2, pod={"nodeSelector": {"a": "b"}}))),
        ],
        [
            case(pytorch()),
            case(pytorch(worker=role(2, env=[]))),
            case(tensorflow(PS=role(), Worker=role(2, resources=GPU))),
        ],
    ),
    "MIG202": ([case(pytorch()), case(xgboost())], [case(elastic()), case(alone()), case(mpi())]),
    "MIG203": (
        [
            case(elastic(maxReplicas=4)),
            case(
                elastic(metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}])
            ),
        ],
        [case(pytorch())],
    ),
    "MIG204": (
        [case(elastic()), case(alike(command=["sh", "-c", "echo $PET_RDZV_ENDPOINT"]))],
        [case(pytorch()), case(workers("PaddleJob"))],
    ),
    "MIG205": (
        [case(job("TFJob", {"Worker": role(2)}, enableDynamicWorker=True))],
        [case(job("TFJob", {"Worker": role(2)}, enableDynamicWorker=False)), case(tensorflow(Worker=role(2)))],
    ),
    "MIG206": ([case(tensorflow(Worker=role(2)))], [case(tensorflow(Worker=role())), case(pytorch())]),
    "MIG207": ([case(mpi())], [case(pytorch(master=role(command=["mpirun"])))]),
    "MIG209": (
        [
            case(mpi(image="example.com/openmpi:5.0.1")),
            case(mpi(launcher={"env": [{"name": "I_MPI_DEBUG", "value": "5"}]})),
        ],
        [case(mpi(image="example.com/openmpi:4.1.5")), case(xgboost(image="example.com/mpich:4"))],
    ),
    "MIG210": (
        [case(mpi(workers=0, launcher={"resources": GPU}))],
        [case(mpi(launcher={"resources": GPU})), case(mpi(workers=0))],
    ),
    "MIG211": (
        [case(mpi(launcher={"args": ["--host-discovery-script", "/etc/mpi/discover_hosts.sh"]}))],
        [case(mpi(launcher={"args": ["-np", "2", "python", "train.py"]}))],
    ),
    "MIG212": (
        [case(mpi(launcher={"resources": GPU}))],
        [case(mpi()), case(mpi(launcher={"resources": GPU}), Options(Target.V2_2))],
    ),
    "MIG213": ([case(xgboost(resources=GPU))], [case(xgboost()), case(alike(resources=GPU))]),
    "MIG214": (
        [case(workers("PaddleJob"))],
        [case(workers("PaddleJob", count=1)), case(job("PaddleJob", {"Master": role(), "Worker": role()}))],
    ),
    "MIG215": (
        [case(alike(pod={"hostNetwork": True}))],
        [case(pytorch()), case(tensorflow(Worker=role(2, pod={"hostNetwork": True})))],
    ),
    "MIG216": (
        [case(alike(ports=[{"containerPort": 80}]))],
        [case(alike(ports=NAMED_PORT)), case(mpi(ports=[{"containerPort": 80}]))],
    ),
    "MIG223": (
        [
            case(mpi(ports=[{"containerPort": 80}, {"containerPort": 81}])),
            case(
                alike(ports=[{"name": "a", "containerPort": 53}, {"name": "b", "containerPort": 53, "protocol": "UDP"}])
            ),
        ],
        [
            case(mpi(ports=[{"containerPort": 80}])),
            case(alike(ports=NAMED_PORT)),
            case(mpi(ports=[{"containerPort": 80}, {"containerPort": 81}]), Options(Target.NEXT)),
        ],
    ),
    "MIG218": (
        [case(alike(pod={"subdomain": "x"})), case(alike(pod={"setHostnameAsFQDN": True}))],
        [case(alike(pod={"hostNetwork": True})), case(alike(pod={"setHostnameAsFQDN": False}))],
    ),
    "MIG219": (
        [case(alike(pod={"containers": [{"name": "node", "image": "x"}]}))],
        [case(alike(pod={"containers": [SIDECAR]})), case(pytorch())],
    ),
    "MIG220": (
        [case(alike(pod={"containers": [SIDECAR]})), case(xgboost(pod={"containers": [SIDECAR]}))],
        [case(pytorch()), case(mpi(pod={"containers": [SIDECAR]}))],
    ),
    "MIG221": ([case(alike(pod={"containers": [SIDECAR]}))], [case(alike(pod={"initContainers": [SIDECAR]}))]),
    "MIG222": (
        [case(tensorflow(Worker=role(0)))],
        [case(pytorch())],
    ),
    "MIG301": (
        [case(pytorch(run={"backoffLimit": None}, worker=role(2, restart="OnFailure")))],
        [case(pytorch(worker=role(2, restart="OnFailure"))), case(pytorch(run={"backoffLimit": None}))],
    ),
    "MIG302": (
        [case(pytorch(worker=role(2, restart="OnFailure")))],
        [case(pytorch()), case(pytorch(run={"backoffLimit": None}, worker=role(2, restart="OnFailure")))],
    ),
    "MIG303": (
        [
            case(pytorch(worker=role(2, restart="ExitCode"))),
            case(alike(command=["sh", "-c", "python t.py || exit 137"])),
        ],
        [
            case(pytorch(worker=role(2, restart="OnFailure"))),
            case(alike(command=["sh", "-c", "python t.py || exit 1"])),
        ],
    ),
    "MIG304": (
        [case(pytorch(worker=role(2, restart="Always")))],
        [case(pytorch(worker=role(2, restart="OnFailure")))],
    ),
    "MIG305": (
        [case(pytorch(run={"cleanPodPolicy": policy})) for policy in ("None", "All", None)],
        [case(pytorch())],
    ),
    "MIG306": ([case(pytorch(run={"ttlSecondsAfterFinished": 60}))], [case(pytorch())]),
    "MIG307": ([case(pytorch(run={"activeDeadlineSeconds": 60}))], [case(pytorch())]),
    "MIG308": (
        [case(pytorch()), case(xgboost()), case(tensorflow(Worker=role(2))), case(elastic())],
        [
            case(pytorch(run={"cleanPodPolicy": "None"})),
            case(alone()),
            case(tensorflow(Chief=role(), Worker=role(2))),
            case(job("TFJob", {"Worker": role(2)}, successPolicy="AllWorkers")),
            case(workers("JAXJob")),
        ],
    ),
    "MIG309": (
        [
            case(pytorch(run={"schedulingPolicy": {"minAvailable": 2}})),
            case(pytorch(run={"schedulingPolicy": {"minResources": {"cpu": "1"}}})),
        ],
        [case(pytorch(run={"schedulingPolicy": {"minAvailable": 3}})), case(pytorch())],
    ),
    "MIG310": (
        [case(pytorch(run={"schedulingPolicy": {"priorityClass": "high"}}))],
        [case(pytorch(run={"schedulingPolicy": {"queue": "gold"}}))],
    ),
    "MIG311": ([case(pytorch(run={"managedBy": "kubeflow.org/training-operator"}))], [case(pytorch())]),
    "MIG312": (
        [case(pytorch(run={"schedulingPolicy": {"queue": "gold"}}))],
        [
            case(pytorch()),
            case(pytorch(run={"schedulingPolicy": {"queue": "gold"}}), replace(OPTIONS, gang_scheduler="volcano")),
            case(pytorch(run={"schedulingPolicy": {}}, master=role(pod={"schedulerName": "volcano"}))),
        ],
    ),
    "MIG314": (
        [case(pytorch(metadata={"annotations": {"sagemaker.amazonaws.com/enable-job-auto-resume": "true"}}))],
        [case(pytorch(metadata={"annotations": {"example.com/owner": "me"}}))],
    ),
    "MIG313": (
        [case(pytorch(metadata={"annotations": {"extension.training.kubeflow.org/restart-scope": "job"}}))],
        [case(pytorch(metadata={"annotations": {"extension.training.kubeflow.org/gang-scheduling": "false"}}))],
    ),
    "MIG401": (
        [
            case(
                alike(
                    env=[
                        {
                            "name": "I",
                            "valueFrom": {
                                "fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}
                            },
                        }
                    ]
                )
            )
        ],
        [case(alike(env=[{"name": "I", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}]))],
    ),
}
CASES["MIG106"] = (
    [case(alike(args=["--master_port=23456"])), case(workers("JAXJob", env=[{"name": "X_PORT", "value": "6666"}]))],
    [
        case(alike(args=["--batch=23456"])),
        case(alike(env=[{"name": "MASTER_PORT", "value": "23456"}])),
        case(workers("JAXJob", env=[{"name": "X_PORT", "value": "23456"}])),
    ],
)
ADDRESS = [{"name": "MASTER_ADDR", "value": "job-worker-0"}]
CASES["MIG107"] = (
    [
        case(alike(args=["--host", "job-master-0"])),
        case(alike(env=[{"name": "PEER", "value": "job-worker-1:80"}])),
        case(workers("PyTorchJob", env=ADDRESS)),  # without a master v1 sets no address
    ],
    [case(alike(args=["--num-worker-threads", "3", "--ps-count=0"])), case(alike(env=ADDRESS))],
)
CASES["MIG102"] = (
    [case(alike(command=["sh", "-c", 'python train.py --world "${WORLD_SIZE:-1}"']))],
    [case(alike(command=["sh", "-c", 'python train.py --threads "${THREADS:-1}"']))],
)
CASES["MIG103"] = (
    [case(alike(command=["sh", "-c", "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK train.py"]))],
    [case(alike(command=["sh", "-c", "torchrun --nnodes=$PET_NNODES train.py"]))],
)
