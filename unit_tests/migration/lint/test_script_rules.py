"""Each rule on scripts finds what it is for, and does not find what is like it."""

from __future__ import annotations

import json

import pytest

from training_migration.findings import Severity
from training_migration.lint.scripts.lint import lint_script
from training_migration.lint.scripts.registry import SCRIPTS

Case = tuple[str, str]
"""Name and text of a script."""


def py(*lines: str) -> Case:
    return "train.py", "import os\nimport torch\n" + "\n".join(lines)


def sh(*lines: str) -> Case:
    return "run.sh", "#!/bin/bash\n" + "\n".join(lines)


CASES: dict[str, tuple[list[Case], list[Case]]] = {
    "MIG102": (
        [
            py('size = int(os.environ.get("WORLD_SIZE", 1))'),
            py('size = int(os.getenv("WORLD_SIZE", "1"))'),
            py('WORLD_SIZE = int(os.environ["WORLD_SIZE"]) if "WORLD_SIZE" in os.environ else 1'),
            py('if "RANK" in os.environ and "WORLD_SIZE" in os.environ:', "    start()"),
            py("from os import environ as e", 'rank = e.get("RANK", 0)'),
            py("env = os.environ.copy()", 'host = env.setdefault("MASTER_ADDR", "localhost")'),
            py('NAME = "WORLD_SIZE"', "size = os.environ.get(NAME) or 1"),
            py("try:", '    size = os.environ["WORLD_SIZE"]', "except KeyError:", "    size = 1"),
            ("train.py", "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()"),
            ("train.py", 'import os, tensorflow\nimport tensorflow\nconfig = os.environ.get("TF_CONFIG", "{}")'),
            py("try:", '    size = os.environ["WORLD_SIZE"]', "except:", "    size = 1"),
            py('size = os.environ.pop("WORLD_SIZE", 1)'),
            sh('python train.py --size "${WORLD_SIZE:-1}"'),
            sh('if [ -z "$RANK" ]; then', "  RANK=0", "fi"),
            ("run", '#!/usr/bin/env python3\nimport os\nrank = os.getenv("RANK", 0)'),
        ],
        [
            py('size = int(os.environ["WORLD_SIZE"])'),
            py('size = int(os.environ.get("WORLD_SIZE"))'),
            py('size = int(os.environ.get("WORLD_SIZE", "{}"))'),
            py("url = f\"tcp://{os.getenv('MASTER_ADDR')}:{port}\""),
            ("train.py", "import torch\nstrategy = MultiWorkerMirroredStrategy()"),
            py('if "WORLD_SIZE" not in os.environ:', '    raise SystemExit("no world")'),
            py('if "WORLD_SIZE" in os.environ:', "    start()", "else:", "    sys.exit(1)"),
            py('assert "WORLD_SIZE" in os.environ'),
            py("try:", '    size = os.environ["WORLD_SIZE"]', "except KeyError:", '    raise RuntimeError("no world")'),
            py("try:", '    size = os.environ["WORLD_SIZE"]', "except ImportError:", "    size = 1"),
            py('size = os.environ.pop("WORLD_SIZE")'),
            py("os.environ.get()"),
            py('threads = int(os.environ.get("OMP_NUM_THREADS", 1))'),
            py('local = int(os.environ.get("LOCAL_RANK", 0))'),
            py('# size = int(os.environ.get("WORLD_SIZE", 1))'),
            py('"""Was: os.environ.get("WORLD_SIZE", 1)"""'),
            py('config = os.environ.get("TF_CONFIG", "{}")'),
            py('size = {"WORLD_SIZE": 1}.get("WORLD_SIZE", 1)'),
            sh('python train.py --size "$WORLD_SIZE"'),
            sh('if [ -z "$RANK" ]; then', "  exit 1", "fi"),
            sh(': "${WORLD_SIZE:?is missing}"'),
            sh("# ${WORLD_SIZE:-1}"),
        ],
    ),
    "MIG103": (
        [
            sh("torchrun --nnodes=$WORLD_SIZE --node_rank ${RANK} train.py"),
            sh("python -m torch.distributed.run \\", "  --master_addr=$MASTER_ADDR \\", "  train.py"),
            ("Dockerfile", "FROM x\nCMD torchrun --nnodes $WORLD_SIZE train.py"),
            sh('FLAGS="--nnodes=$WORLD_SIZE --node_rank=$RANK"', "torchrun $FLAGS train.py"),
        ],
        [
            sh("torchrun --nnodes=$PET_NNODES --node_rank=$PET_NODE_RANK train.py"),
            sh("torchrun train.py", "echo $RANK"),
            sh("# torchrun --nnodes=$WORLD_SIZE"),
            sh("RANK=$1", "torchrun --node_rank=$RANK train.py"),
            sh("start --node_rank=$RANK"),
        ],
    ),
    "MIG106": (
        [
            py('dist.init_process_group(init_method="tcp://host:23456")'),
            py("port = 23456"),
            sh("export MASTER_PORT=23456"),
            ("Dockerfile", "FROM x\nEXPOSE 2222"),
            ("train.py", "import tensorflow\nport = 2222"),
        ],
        [py("port = 29500"), py("batch = 23456"), py("port = 234567"), py("# port 23456"), py("port = 2222")],
    ),
    "MIG107": (
        [
            py('host = f"{job}-worker-{index}"'),
            py('host = "%s-master-%d" % (job, 0)'),
            py('host = job + "-ps-" + str(index)'),
            py('rank = int(socket.gethostname().split("-")[-1])'),
            sh("RANK=${HOSTNAME##*-}"),
            sh("rank=$(hostname | awk -F- '{print $NF}')"),
            sh("ping $JOB-master-0"),
        ],
        [
            py('parser.add_argument("--num-worker-threads")'),
            py('name = "data-worker-pool"'),
            py('host = "job-worker-0-1.job"'),
            py('host = f"{job}-worker-0-{index}.{job}"'),
            py("name = socket.gethostname()"),
            sh('echo "on $HOSTNAME"'),
        ],
    ),
    "MIG115": (
        [
            sh("accelerate launch train.py"),
            sh("exec deepspeed train.py"),
            py("import lightning"),
            sh("horovodrun -np 2 x"),
        ],
        [sh("torchrun train.py"), py("import deepspeed"), sh("pip install deepspeed"), sh("echo accelerate")],
    ),
    "MIG117": (
        [
            py('rank = int(os.environ["RANK"])'),
            py('rank = int(os.getenv("RANK"))'),
            ("train.py", 'import jax, os\nos.environ["PROCESS_ID"]'),
            ("train.py", 'import os\nimport xgboost\nworkers = os.environ["WORKER_ADDRS"]'),
            sh("python train.py --rank=$RANK"),
            sh("python train.py --rank=$(RANK)"),
        ],
        [
            py('rank = int(os.environ["LOCAL_RANK"])'),
            py('os.environ["RANK"] = os.environ["PET_NODE_RANK"]', 'rank = os.environ["RANK"]'),
            py('os.environ["PROCESS_ID"]'),
            sh("RANK=$PET_NODE_RANK", "python train.py --rank=$RANK"),
            sh("torchrun --node_rank=$RANK train.py"),
            sh("echo $RANKS"),
        ],
    ),
    "MIG203": (
        [sh("kubectl -n team scale pytorchjob/x --replicas=3")],
        [sh("kubectl scale deployment/x --replicas=3")],
    ),
    "MIG204": ([py('os.environ["PET_RDZV_ENDPOINT"]'), sh("echo $PET_MAX_RESTARTS")], [sh("echo $PET_NNODES")]),
    "MIG209": (
        [sh("export I_MPI_DEBUG=5"), ("Dockerfile", "FROM example.com/openmpi:5.0"), sh("mpiexec.hydra -n 2 x")],
        [sh("mpirun -n 2 x"), ("Dockerfile", "FROM example.com/openmpi:4.1.5")],
    ),
    "MIG211": (
        [sh("mpirun --mca plm_rsh_agent /etc/mpi/kubexec.sh x"), sh("kubectl -n team exec pod -- x")],
        [sh("mpirun --hostfile /etc/mpi/hostfile x"), sh("kubectl get pods")],
    ),
    "MIG303": (
        [py("sys.exit(138)"), py("os._exit(130)"), sh("exit 143")],
        [py("sys.exit(1)"), py("sys.exit(1380)"), sh("exit 0"), py("exit_code = 138")],
    ),
    "MIG401": (
        [py('open("/labels").read().index("training.kubeflow.org/replica-index")')],
        [py('open("/labels").read().index("trainer.kubeflow.org/x")')],
    ),
    "MIG407": (
        [py("from kubeflow.training import TrainingClient as C\nc = C()"), py("api.wait_for_job_conditions(name)"),
         py("def f(c: TrainingClient):\n    c.train()")],
        [py("model.train()"), py("batch.create_job(x)"), py("from kubeflow.trainer import TrainerClient as C\nC()")],
    ),
    "MIG408": (
        [py("KubeflowOrgV1PyTorchJob(spec=1)"), py("from kubeflow.training import V1ReplicaSpec as R\nR()")],
        [py("V1Pod()"), py("V1ReplicaSpec()")],
    ),
    "MIG409": (
        [py("x = f'apiVersion: kubeflow.org/v1\\nkind: {kind}'"),
         py("{'apiVersion': 'kubeflow.org/v1', 'kind': 'TFJob'}"),
         py("{'apiVersion': f'{group}/{version}', 'kind': 'TFJob'}"),
         sh("kubectl apply -f - <<EOF", "kind: TFJob", "apiVersion: kubeflow.org/v1", "EOF"),
         py("api.create_namespaced_custom_object('kubeflow.org', 'v1', 'a', 'mpijobs', {})")],
        [py("x = 'apiVersion: kubeflow.org/v1beta1\\nkind: TFJob'"), py("{'apiVersion': 'kubeflow.org/v1'}"),
         py("{'apiVersion': f'{group}/{version}', 'kind': 'Job'}"), py("x = f'apiVersion: {v}\\nkind: {kind}'"),
         sh("kubectl apply -f - <<EOF", "apiVersion: trainer.kubeflow.org/v1alpha1", "kind: TFJob", "EOF"),
         sh("kubectl apply -f - <<EOF", "apiVersion: kubeflow.org/v1beta1", "kind: TFJob", "EOF"),
         py("api.create_namespaced_custom_object('batch', 'v1', 'a', 'mpijobs', {})")],
    ),
}  # fmt: skip


def ids(given: Case) -> set[str]:
    return {each.rule.id for each in lint_script(*given)}


@pytest.mark.parametrize("rule", sorted(CASES))
def test_it_is_found_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = CASES[rule]
    assert yes and no
    assert [rule in ids(given) for given in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_every_rule_on_scripts_is_here() -> None:
    assert SCRIPTS.rules == CASES.keys()


def test_findings_have_file_line_sentence_and_remedy() -> None:
    name, text = py("", 'size = int(os.environ.get("WORLD_SIZE", 1))')
    (found,) = lint_script(name, text)
    assert (found.source, found.line, found.level) == ("train.py", 4, Severity.ERROR)
    assert found.message == "it continues without WORLD_SIZE: where v2 does not set it, every node trains alone."
    assert found.rule.remedy


def test_under_a_launcher_a_default_is_only_worth_knowing_and_a_need_is_met() -> None:
    name, text = py('size = int(os.environ.get("WORLD_SIZE", 1))', 'rank = os.environ["RANK"]')
    found = lint_script(name, text, launched=True)
    assert [(each.rule.id, each.level) for each in found] == [("MIG102", Severity.INFO)]


def test_the_kind_decides_what_v1_has_set() -> None:
    text = 'import os\nos.environ["RANK"], os.environ["PROCESS_ID"], os.environ["TF_CONFIG"]\n'
    for kind, names in {
        "PyTorchJob": "RANK",
        "JAXJob": "PROCESS_ID",
        "TFJob": "TF_CONFIG",
        None: "PROCESS_ID, RANK, TF_CONFIG",
    }.items():
        (found,) = lint_script("x.py", text, kind=kind)
        assert found.message == f"it needs {names}, which v2 does not set."
    assert lint_script("x.py", text, kind="MPIJob") == []


def test_variables_of_the_container_are_not_missing() -> None:
    name, text = py('size = int(os.environ.get("WORLD_SIZE", 1))', 'rank = os.environ["RANK"]')
    assert lint_script(name, text, given=frozenset({"WORLD_SIZE", "RANK"})) == []


def test_notebooks_are_read_cell_by_cell_with_lines_of_the_file() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["os.environ['RANK']"]},
        {
            "cell_type": "code",
            "source": [
                "%pip install x\n",
                "import os\n",
                'rank = os.environ["RANK"]\n',
                "!torchrun --nnodes=$WORLD_SIZE x",
            ],
        },
    ]
    text = json.dumps({"cells": cells}, indent=1)
    found = {each.rule.id: each for each in lint_script("train.ipynb", text)}
    assert found.keys() == {"MIG103", "MIG117"}
    assert "RANK" in text.splitlines()[found["MIG117"].line - 1]
    assert lint_script("train.ipynb", "no JSON") == []


def test_python_that_cannot_be_parsed_is_still_looked_through() -> None:
    assert ids(("train.py", 'print "port", 23456\nhost = "job-master-0"')) == {"MIG106", "MIG107"}


def test_commands_over_several_lines_are_one() -> None:
    name, text = sh("torchrun \\", "  --nnodes=$WORLD_SIZE \\", "  --node_rank=$RANK \\", "  train.py")
    (found,) = lint_script(name, text)
    assert (found.rule.id, found.line) == ("MIG103", 2)


def test_a_hash_within_quotes_or_a_word_begins_no_comment() -> None:
    assert ids(sh('echo "# no comment" $RANK')) == {"MIG117"}
    assert ids(sh("echo a#b $RANK")) == {"MIG117"}
    assert ids(sh("echo a # $RANK")) == set()


def test_ports_of_kinds_without_a_policy_are_only_worth_knowing() -> None:
    for kind, port, level in (("PyTorchJob", 23456, Severity.WARNING), ("TFJob", 2222, Severity.INFO)):
        (found,) = lint_script("x.py", f"port = {port}", kind=kind)
        assert found.level is level


def test_lines_that_no_person_writes_are_looked_through_in_pieces() -> None:
    text = "x = 1; " * 2_000 + "port = 23456"
    (found,) = lint_script("x.sh", text, kind="PyTorchJob")
    assert (found.rule.id, found.line) == ("MIG106", 1)
    deep = "import os\n" + "(" * 500 + "1" + ")" * 500 + '\nport = 23456  # os.environ["RANK"]'
    assert {each.rule.id for each in lint_script("x.py", deep, kind="PyTorchJob")} == {"MIG106"}
