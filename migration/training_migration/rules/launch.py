"""Rules on how training processes are started and what their environment says."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import DEPENDENT_VARIABLES, GUIDE, POD, RUNTIMES, TORCHRUN

RULES: Final = (
    Rule(
        "MIG101",
        Severity.ERROR,
        "PyTorch is started without a launcher",
        "v1 gave every pod `MASTER_ADDR`, `MASTER_PORT`, `WORLD_SIZE` and `RANK`, so that `python train.py` was "
        "enough. v2 sets `PET_*` variables only, which `torchrun` reads and `python` does not. A script that assumes "
        "a world of one where the variables are missing then trains alone on every node, and the TrainJob ends as "
        "Complete. The same happens with `torchrun --standalone`, with `--nnodes=1`, and with `torchrun` on a runtime "
        "that has no torch policy.",
        "Start with `torchrun train.py`, or set the four variables in `spec.trainer.env`, as `convert` does.",
        f"kubeflow/trainer#3492, kubeflow/trainer#3277, kubeflow/sdk#142; {TORCHRUN}; {GUIDE}",
        converted=True,
    ),
    Rule(
        "MIG102",
        Severity.ERROR,
        "A script that trains alone if a variable of the process group is missing",
        "With v1 the variable was always there. With v2 it is not, unless a launcher or the conversion sets it, and "
        "the script does not fail: every node trains by itself, as rank 0 of 1, with all of the data.",
        "Start with `torchrun` or set the variables, and let the script fail where they are missing: "
        '`os.environ["WORLD_SIZE"]` in place of a default.',
        "kubeflow/trainer#3492, kubeflow/sdk#142",
        converted=True,
    ),
    Rule(
        "MIG103",
        Severity.ERROR,
        "Flags of a launcher that are made of v1's variables",
        "`--nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr=$MASTER_ADDR` was usual with v1. v2 sets none of the "
        "three, so that the flags are empty.",
        "Use `$PET_NNODES`, `$PET_NODE_RANK`, `$PET_MASTER_ADDR` and `$PET_MASTER_PORT`, or no flags at all: "
        "`torchrun` reads these variables by itself.",
        f"kubeflow/trainer#3492; {TORCHRUN}",
        converted=True,
    ),
    Rule(
        "MIG104",
        Severity.ERROR,
        "A variable that v2 keeps to itself",
        "v2's admission rejects a TrainJob whose `trainer.env` names a variable that the policy of its runtime sets: "
        "`PET_NNODES`, `PET_NPROC_PER_NODE`, `PET_NODE_RANK`, `PET_MASTER_ADDR`, `PET_MASTER_PORT` with torch, four "
        "`DMLC_*` with xgboost, and from 2.3 on four `OMPI_MCA_*` with mpi.",
        "Leave the variable out. The number of nodes and of processes are fields of the TrainJob.",
        "kubeflow/trainer, validation of the torch, xgboost and mpi plugins",
        converted=True,
    ),
    Rule(
        "MIG105",
        Severity.WARNING,
        "A variable of the template that v1 replaced and v2 obeys",
        "v1 appended its variables after those of the template, so that its values won. v2 does not set these, or "
        "lets the given value win: a stale one now takes effect.",
        "Remove the variable from the template.",
        "kubeflow/trainer#1840; kubeflow/trainer, jax plugin",
        converted=True,
    ),
    Rule(
        "MIG106",
        Severity.WARNING,
        "A port of v1 that is written out",
        "v1's operator had a port for each kind: 23456 PyTorch, 2222 TensorFlow, 9999 XGBoost, 36543 Paddle, 6666 JAX. "
        "v2's policies use 29500 for all and set no other.",
        "Read the port from the environment, or write 29500.",
        "kubeflow/trainer, constants of the runtime plugins",
    ),
    Rule(
        "MIG107",
        Severity.WARNING,
        "A host name as v1 made them",
        "v1's pods were called `JOB-master-0` and `JOB-worker-1`, and that was their host name. v2's are "
        "`JOB-node-0-0.JOB`; the name of a pod alone leads nowhere, and worker i is now index i + 1.",
        "Take the address from the environment, and the rank from `JOB_COMPLETION_INDEX` or the launcher. `convert` "
        "writes v2's name for each name of the job's own pods, and the variable for a rank that a shell takes from the "
        "host name, where both give the same number.",
        "kubernetes-sigs/jobset, network of a JobSet; kubeflow/trainer#2365",
    ),
    Rule(
        "MIG108",
        Severity.WARNING,
        "A PyTorchJob without a master",
        "v1 gave such pods no rank, no address and no world size. v2 gives every node five `PET_*` variables, so that "
        "a script or launcher that arranged itself by other means may now find two answers.",
        "Check what the command does with `PET_NNODES` and `PET_MASTER_ADDR`; flags of `torchrun` win over them.",
        f"kubeflow/trainer#2903; {TORCHRUN}",
    ),
    Rule(
        "MIG109",
        Severity.WARNING,
        "The number of processes on a CPU node is not given",
        "`auto`, v1's default, lets `torchrun` start one process for each CPU of the machine. v2 passes the CPUs that "
        "the container requests, and 1 if it requests none. The world size differs.",
        "Give the number: `spec.trainer.numProcPerNode`.",
        f"kubeflow/trainer#2407; {TORCHRUN}",
        converted=True,
    ),
    Rule(
        "MIG110",
        Severity.WARNING,
        "An accelerator that v2 does not take for a GPU",
        "v2 looks for the letters `gpu` in the name of the resource. Slices of a GPU (`nvidia.com/mig-...`), TPUs, "
        "Gaudi and Neuron have none, so that a node gets one process for each requested CPU.",
        "Give the number: `spec.trainer.numProcPerNode`.",
        "kubeflow/trainer#2407; kubeflow/trainer, torch plugin",
        converted=True,
    ),
    Rule(
        "MIG111",
        Severity.WARNING,
        "Several processes for each pod, and nothing that starts them",
        "With a number in `nprocPerNode` v1 multiplied `WORLD_SIZE` by it, while plain `python` starts one process "
        "only: the group waited for ranks that were never started. v2 has no `WORLD_SIZE` at all.",
        "Start with `torchrun`, or set the number to 1.",
        "kubeflow/trainer#1790, kubeflow/trainer#1840",
    ),
    Rule(
        "MIG112",
        Severity.WARNING,
        "It is not known what starts the training",
        "The template has no command, so that the entry point of the image runs, or the command is a program that is "
        "not known. Whether it sets rank and world size by itself cannot be seen here.",
        "Give the image's folder with `--context` or the scripts with `--script`, or write the command out.",
        f"kubeflow/trainer#3492; {POD}",
    ),
    Rule(
        "MIG113",
        Severity.WARNING,
        "Command and arguments come from different objects",
        "`command` and `args` of a TrainJob replace those of the runtime each by itself. Where only one is given, it "
        "is combined with the other one of the runtime.",
        "Give both in the TrainJob, or both in the runtime.",
        f"kubeflow/trainer, TrainJob API; {RUNTIMES}",
        converted=True,
    ),
    Rule(
        "MIG114",
        Severity.ERROR,
        "A variable made of another that comes later",
        "Kubernetes replaces `$(NAME)` in a value only by variables that come before it. v2 appends `PET_*` and the "
        "Job controller appends `JOB_COMPLETION_INDEX` after those of the TrainJob: the text stays as it is.",
        "Use the variable in the command or the arguments, or an own variable with a `fieldRef` on the annotation "
        "`batch.kubernetes.io/job-completion-index`.",
        DEPENDENT_VARIABLES,
    ),
    Rule(
        "MIG115",
        Severity.WARNING,
        "A launcher that reads variables of its own",
        "accelerate, deepspeed, horovodrun, colossalai, ray and Lightning each read other variables or flags than "
        "`torchrun`; some fall back to one machine where they find none.",
        "See which variables or flags the launcher needs, and give them. `probe` shows what a process of it gets.",
        "kubeflow/trainer#3492; https://huggingface.co/docs/accelerate/package_reference/cli; "
        "https://www.deepspeed.ai/getting-started/",
    ),
    Rule(
        "MIG116",
        Severity.INFO,
        "Python's output is buffered",
        "v1 set `PYTHONUNBUFFERED=1` in most kinds, v2 sets it in none: lines of a log appear late, and those before a "
        "crash may never.",
        "Set `PYTHONUNBUFFERED` to `1` in `spec.trainer.env`.",
        "https://docs.python.org/3/using/cmdline.html#envvar-PYTHONUNBUFFERED",
        converted=True,
    ),
    Rule(
        "MIG117",
        Severity.ERROR,
        "A variable that only v1 sets",
        "v1 set variables for every framework, for example `RANK`, `TF_CONFIG`, `PROCESS_ID`, `WORKER_ADDRS`, "
        "`PADDLE_MASTER`. v2 has none of these names: the script fails where it needs one.",
        "Let `convert` write the variables out, start with a launcher that sets them, or read v2's names.",
        "kubeflow/trainer#3277, kubeflow/trainer#2443, kubeflow/trainer#2699",
        converted=True,
    ),
)
