"""Rules on roles, ranks, hosts and ports."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import DNS, POD, SIDECARS, TORCHRUN

RULES: Final = (
    Rule(
        "MIG201",
        Severity.ERROR,
        "Templates of master and workers differ",
        "A node of v2's policies is like every other: there is one template. What only the master or only the workers "
        "had cannot stay as it is.",
        "Choose with `--asymmetric`: the larger of both (`merge-max`), two replicated jobs (`split`), or none "
        "(`reject`).",
        "kubeflow/trainer#2365, kubeflow/trainer#2800",
        converted=True,
    ),
    Rule(
        "MIG202",
        Severity.INFO,
        "Worker i becomes node i + 1",
        "The master is node 0. Names of pods, log queries and per-rank files that count workers move by one.",
        "Nothing, unless something outside counts workers.",
        "kubeflow/trainer#2365",
    ),
    Rule(
        "MIG203",
        Severity.ERROR,
        "An elastic number of workers",
        "v2 has no elastic jobs: the number of nodes is fixed, there is no scale subresource, and no autoscaler can be "
        "given. `torchrun` still forms a new group after a failure. A job whose command says `--nnodes=4`, or whose "
        "bounds are equal, is not elastic in practice: there it is worth a note only.",
        "`convert` writes the fixed number `replicas`. Decide on `trainer.numNodes`. To continue with fewer nodes "
        "after a loss write `--nnodes=MIN:N` behind `torchrun`; to change the number delete the TrainJob and create "
        "it with another one, so that it resumes from its checkpoint. Remove what has scaled the job.",
        "kubeflow/trainer#2903, kubeflow/trainer#3235, kubeflow/trainer#3654",
        converted=True,
        counterpart=False,
    ),
    Rule(
        "MIG204",
        Severity.INFO,
        "Settings of the rendezvous",
        "v1 made `PET_RDZV_*` and `PET_MAX_RESTARTS` of `elasticPolicy`. v2 sets none of them, but obeys them.",
        "Give them in `spec.trainer.env`, as `convert` does.",
        f"kubeflow/trainer#3277; {TORCHRUN}",
        converted=True,
    ),
    Rule(
        "MIG205",
        Severity.ERROR,
        "Dynamic workers of TensorFlow",
        "v1 gave each worker a sparse cluster specification, so that workers could come and go. v2 has no policy for "
        "TensorFlow, and a specification that is written out is fixed.",
        "Decide on a number of workers; to change it, convert again and create the TrainJob again.",
        "kubeflow/trainer#2443, kubeflow/trainer#2699",
        counterpart=False,
    ),
    Rule(
        "MIG206",
        Severity.WARNING,
        "`TF_CONFIG` becomes part of the runtime",
        "v2 does not make it. The conversion writes host names, numbers and the namespace into the runtime, so that "
        "it serves one TrainJob of one name and size.",
        "Convert again after a change of name, namespace or number; do not share the runtime.",
        "kubeflow/trainer#2443, kubeflow/trainer#2699",
        converted=True,
    ),
    Rule(
        "MIG207",
        Severity.ERROR,
        "The image of an MPI job needs SSH",
        "v1's launcher reached workers with `kubectl exec`. v2's uses SSH: workers run a server, the launcher has a "
        "client, and both need the same user.",
        "Add `openssh-server` and `openssh-client` to the image, with `StrictModes no`, and let workers run "
        "`/usr/sbin/sshd -De`.",
        "kubeflow/trainer#2751, kubeflow/trainer#2825, kubeflow/trainer#4030",
    ),
    Rule(
        "MIG208",
        Severity.ERROR,
        "Several nodes in the policy of an MPI runtime",
        "The launcher is the replicated job that the policy counts, so that `mlPolicy.numNodes: 2` makes two "
        "launchers, each of which starts the whole training.",
        "Leave `mlPolicy.numNodes` at 1, and give the number of workers in `spec.trainer.numNodes`.",
        "kubeflow/trainer, mpi plugin; kubeflow/trainer#4064",
        converted=True,
    ),
    Rule(
        "MIG209",
        Severity.WARNING,
        "An MPI that v2 does not set up",
        "v2 sets variables of Open MPI 4 only. Open MPI 5 has other names and silently starts everything on one "
        "host; Intel MPI and MPICH read none of them, and a runtime that names one of the two gets no pods at all.",
        "Give the host file by flag (`mpirun --hostfile /etc/mpi/hostfile`), or use Open MPI 4.",
        "kubeflow/trainer#4028, kubeflow/trainer#4025",
    ),
    Rule(
        "MIG210",
        Severity.WARNING,
        "A launcher that trains as well, with one node",
        "With `runLauncherAsNode` there is always one node in addition to the launcher. One node becomes two hosts.",
        "Set `runLauncherAsNode: false`, or count with two.",
        "kubeflow/trainer, mpi plugin",
    ),
    Rule(
        "MIG211",
        Severity.ERROR,
        "Programs that v1 put into MPI pods",
        "`kubectl`, `/etc/mpi/kubexec.sh` and `/etc/mpi/discover_hosts.sh` came from v1's operator. v2 has SSH and a "
        "fixed host file, and nothing that finds hosts.",
        "Use `mpirun` with `/etc/mpi/hostfile`. For elastic Horovod write `horovodrun -np N --hostfile "
        "/etc/mpi/hostfile` in place of the script and the bounds: the number of hosts is fixed.",
        "kubeflow/trainer#2751, kubeflow/trainer#2903",
        counterpart=False,
    ),
    Rule(
        "MIG212",
        Severity.INFO,
        "MPI's rank 0 is on another host",
        "From 2.3 on the shipped runtimes list nodes before the launcher. Where the launcher trains as well, rank 0 "
        "is the first node and no longer the launcher, and its files lie there.",
        "Write what rank 0 writes to a volume that all share.",
        "kubeflow/trainer, mpi plugin and stock runtimes",
    ),
    Rule(
        "MIG213",
        Severity.WARNING,
        "XGBoost with several GPUs for each pod",
        "v2's `DMLC_NUM_WORKER` counts GPUs, while `DMLC_TASK_ID` counts pods: the tracker waits for workers that "
        "are never started.",
        "Start one process for each GPU, or request one GPU for each pod, or set the number by v1's variables.",
        "kubeflow/trainer, xgboost plugin",
    ),
    Rule(
        "MIG214",
        Severity.WARNING,
        "Paddle's master must know itself by its address",
        "v1 gave rank 0 its own IP and all others its name. Paddle's launcher sees that it is the master by "
        "comparing with its IP, so that one value for all does not do.",
        "Keep the wrapper that `convert` writes: it sets `PADDLE_MASTER` by `JOB_COMPLETION_INDEX`.",
        "kubeflow/trainer, plain policy; "
        "https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/launch_en.html",
        converted=True,
    ),
    Rule(
        "MIG215",
        Severity.WARNING,
        "The host's network with a port that nothing can change",
        "v2's policies always use 29500. Two TrainJobs with `hostNetwork` on one machine both want it.",
        "Leave `hostNetwork`, or keep such jobs apart by anti-affinity.",
        "kubeflow/trainer, constants of the runtime plugins",
    ),
    Rule(
        "MIG216",
        Severity.ERROR,
        "A port without a name in the container that trains",
        "The policies of torch, jax and xgboost add a port without a name, and merge by name: it takes the place of "
        "the one in the template that has none either.",
        "Give the port a name.",
        f"kubeflow/trainer#3925 (fixed after 2.3.0); {POD}",
        converted=True,
    ),
    Rule(
        "MIG217",
        Severity.WARNING,
        "Another subdomain than the name of the TrainJob",
        "The addresses that torch, jax and xgboost get always end in the TrainJob's name, whatever "
        "`network.subdomain` says: they lead nowhere.",
        "Leave `network.subdomain` out.",
        f"kubeflow/trainer, torch, jax and xgboost plugins; {DNS}",
    ),
    Rule(
        "MIG218",
        Severity.WARNING,
        "A template that names its own host",
        "JobSet gives each pod a host name and a subdomain, by which the others find it. A template that sets "
        "`hostname`, `subdomain` or `setHostnameAsFQDN` changes or loses these names.",
        "Leave the three fields out.",
        f"kubernetes-sigs/jobset, network of a JobSet; {DNS}",
    ),
    Rule(
        "MIG219",
        Severity.ERROR,
        "Another container is called `node`",
        "v2 trains in the container `node`. The container that trained under v1 must get this name, which another "
        "one already has.",
        "Rename the other container.",
        "kubeflow/trainer, validation of runtimes",
    ),
    Rule(
        "MIG220",
        Severity.WARNING,
        "A second container that uses the variables of the training",
        "v1 gave the variables of PyTorch, XGBoost, Paddle and JAX to every container of a pod. v2 gives them to the "
        "one called `node` only.",
        "With torch from 2.3 on name the container in `mlPolicy.torch.envInjection`; else write the variables out.",
        f"kubeflow/katib#2616; {SIDECARS}",
    ),
    Rule(
        "MIG221",
        Severity.WARNING,
        "A second container that keeps the pod from finishing",
        "A Job's pod has finished when all its ordinary containers have ended. v1 looked at the container that trains.",
        "Make it a sidecar: an init container with `restartPolicy: Always`, as `convert --sidecars native` does.",
        f"kubeflow/katib#2616; {SIDECARS}",
        converted=True,
    ),
    Rule(
        "MIG222",
        Severity.ERROR,
        "A job of which v1 makes no pods",
        "v1 accepts a job without replicas, or without the port that others need to know, and then runs nothing of it. "
        "A TrainJob has at least one node.",
        "Fix the job first, or leave it behind.",
        "kubeflow/trainer, TrainJob API",
        trains=False,
    ),
    Rule(
        "MIG223",
        Severity.ERROR,
        "Ports of one container that v2 writes over each other",
        "v2 takes two ports of one number for the same, and two without a name as well, in every container, whatever "
        "the policy. It overwrites one of them, then has the same port twice, and the JobSet is rejected as invalid: "
        "only an event reports this, and nothing starts.",
        "Give each port a name; of two protocols on one number keep one, or leave `ports` out: it opens nothing.",
        f"kubeflow/trainer#3925 (fixed after 2.3.0); {POD}",
        converted=True,
    ),
)
