"""The test of the wiring: what it says inside of pods, and how it takes the place of a training program."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from training_migration.convert.wrapper import wrapped
from training_migration.runs import inside
from training_migration.runs.probe import ProbePlan, ProbeResult, names_for, probe_marks, results, with_probe

Json = dict[str, Any]
PROGRAM = Path(str(inside.__file__)).parent / "probe.py"


def play(names: list[str], *processes: Mapping[str, str], seconds: float = 20.0) -> list[tuple[int, ProbeResult]]:
    """Run one probe for each set of variables; return exit status and result of each."""
    given = json.dumps({"names": names, "hosts": ["localhost"], "seconds": seconds})
    command = [sys.executable, str(PROGRAM), given]
    running = [
        subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", **env}, stderr=subprocess.PIPE, text=True)
        for env in processes
    ]
    found = []
    for process in running:
        _, answer = process.communicate(timeout=60)
        [result] = results(answer.splitlines())
        found.append((process.returncode, result))
    return found


@pytest.fixture
def port() -> str:
    """A port that is not used."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def torch(rank: int, size: int, port: str) -> dict[str, str]:
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "localhost", "MASTER_PORT": port}


def test_all_meet_at_rank_0(port: str) -> None:
    found = play(["RANK"], *(torch(rank, 3, port) for rank in range(3)))
    assert [(status, result.rank, result.world_size, result.heard) for status, result in found] == [
        (0, 0, 3, (1, 2)),
        (0, 1, 3, (0,)),
        (0, 2, 3, (0,)),
    ]
    assert dict(found[1][1].variables) == torch(1, 3, port)
    assert dict(found[0][1].name_seconds)["localhost"] is not None
    marks = probe_marks([f"training-probe: {json.dumps({'ok': True, 'rank': 0, 'worldSize': 3, 'heard': [1, 2]})}"])
    assert [(mark.met, mark.rank, mark.peers) for mark in marks] == [(True, 0, (1, 2))]


def test_two_of_one_rank_are_reported(port: str) -> None:
    found = play(["RANK"], torch(0, 3, port), torch(1, 3, port), torch(1, 3, port))
    assert {(status, result.why) for status, result in found} == {(1, "several have the same rank: [0, 1, 1]")}


def test_missing_variables_are_named(port: str) -> None:
    [(status, result)] = play(["RANK"], {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "PET_NODE_RANK": "0"})
    assert (status, result.why, result.rank) == (1, "not set: RANK, WORLD_SIZE", None)
    [mark] = probe_marks([f'training-probe: {{"ok": false, "rank": null, "why": "{result.why}"}}'])
    assert not mark.met


def test_whoever_does_not_come_is_missed(port: str) -> None:
    [(status, result)] = play(["RANK"], torch(0, 2, port), seconds=0.5)
    assert (status, result.why) == (1, "1 of 2 came")


def test_a_coordinator_without_an_address_is_reported(port: str) -> None:
    [(_, result)] = play(["RANK"], {**torch(1, 2, port), "MASTER_ADDR": "nobody.invalid"}, seconds=0.3)
    assert result.why == "nobody.invalid has no address"


def test_the_first_of_several_names_that_is_there_counts(port: str) -> None:
    env = {"JAX_PROCESS_ID": "0", "JAX_NUM_PROCESSES": "1", "JAX_COORDINATOR_ADDRESS": f"localhost:{port}"}
    [(status, result)] = play(["COORDINATOR", "JAX"], env)
    assert (status, result.read_from, result.coordinator) == (0, "JAX", f"localhost:{port}")


def test_an_elastic_job_takes_all_pods_that_there_are(port: str) -> None:
    """One pod here, whatever it could have been; the coordinator is who has its address."""
    env = {"PET_NNODES": "1:3", "PET_RDZV_ENDPOINT": f"localhost:{port}"}
    [(status, result)] = play(["PET"], env)
    assert (status, result.rank, result.world_size) == (0, 0, 1)


def test_tasks_of_tensorflow_are_counted_through(port: str) -> None:
    cluster = {"worker": ["w0:1", "w1:1"], "chief": [f"localhost:{port}"]}
    tasks = [{"type": "chief", "index": 0}, {"type": "worker", "index": 0}, {"type": "Worker", "index": 1}]
    found = play(["TF_CONFIG"], *({"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks))
    assert [(status, result.rank, result.world_size) for status, result in found] == [(0, 0, 3), (0, 1, 3), (0, 2, 3)]


def test_who_has_no_rank_is_given_one(port: str) -> None:
    """Everybody here has the coordinator's address, as rank 0 of Paddle has: one alone is enough to see it."""
    [(status, result)] = play(["PADDLE"], {"PADDLE_MASTER": f"localhost:{port}", "PADDLE_NNODES": "1"})
    assert (status, result.rank, result.world_size) == (0, 0, 1)


def test_the_launcher_of_mpi_enters_the_hosts_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a slots=2\nb slots=2\n")
    (tmp_path / "agent").write_text('#!/bin/sh\ntest "$1" = -v && test "$2" = a && shift 2 && exec "$@"\n')
    (tmp_path / "agent").chmod(0o755)
    agent = {"OMPI_MCA_plm_rsh_agent": str(tmp_path / "agent"), "OMPI_MCA_plm_rsh_args": "-v"}
    [(status, result)] = play(
        ["MPI"], {"OMPI_MCA_orte_default_hostfile": str(tmp_path / "hosts"), **agent}, seconds=0.1
    )
    assert (status, result.entered, result.why) == (1, ("a",), "cannot be entered: b")


def runtime(**container: Any) -> Json:
    pod = {"spec": {"containers": [{"name": "node", "image": "i", **container}, {"name": "sidecar"}]}}
    job = {"name": "node", "template": {"spec": {"backoffLimit": 3, "podFailurePolicy": {}, "template": pod}}}
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {}, "spec": spec}


def first_job(changed: Json) -> Json:
    job: Json = changed["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
    return job


PLAN = ProbePlan(("RANK",), ("host",), 5.0)


def test_it_takes_the_place_of_the_command_and_fails_at_once() -> None:
    [changed] = with_probe([runtime(command=["python", "t.py"], args=["-v"])], PLAN, {"node": "node"})
    job = first_job(changed)
    main, sidecar = job["template"]["spec"]["containers"]
    assert (main["command"], "args" in main, sidecar) == (PLAN.command, False, {"name": "sidecar"})
    assert (job["backoffLimit"], "podFailurePolicy" in job) == (0, False)


def test_what_a_shell_exports_first_is_kept() -> None:
    script = 'export RANK=$((JOB_COMPLETION_INDEX + 1))\nexec python t.py "$HOME"\n'
    [changed] = with_probe([runtime(command=["sh", "-c", script])], PLAN, {"node": "node"})
    command = first_job(changed)["template"]["spec"]["containers"][0]["command"]
    assert command[:3] == ["sh", "-c", 'export RANK=$((JOB_COMPLETION_INDEX + 1))\nexec "$@"']
    answer = [*command[:4], "sh", "-c", "echo $RANK"]
    shown = subprocess.run(answer, env={"JOB_COMPLETION_INDEX": "2"}, capture_output=True, check=True)
    assert shown.stdout == b"3\n"
    assert command[4:] == PLAN.command


def test_a_wrapper_around_the_program_is_kept() -> None:
    container: Json = {"command": ["python", "t.py"], "args": ["-v"]}
    wrapped(container, ["export RANK=3"], "with-rank")
    [changed] = with_probe([runtime(**container)], PLAN, {"node": "node"})
    main = first_job(changed)["template"]["spec"]["containers"][0]
    assert main["command"] == ["sh", "-c", 'export RANK=3\nexec "$@"', "with-rank", *PLAN.command]
    assert "args" not in main


def test_a_shell_that_starts_no_program_by_exec_is_replaced() -> None:
    [changed] = with_probe([runtime(command=["sh", "-c", "torchrun t.py; sleep 5"])], PLAN, {"node": "node"})
    assert first_job(changed)["template"]["spec"]["containers"][0]["command"] == PLAN.command


def test_a_command_of_the_train_job_is_replaced_too() -> None:
    train_job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {}}
    given: Json = {**train_job, "spec": {"trainer": {"command": ["python"], "args": ["t.py"], "numNodes": 2}}}
    [changed] = with_probe([given], PLAN, {})
    assert changed["spec"]["trainer"] == {"command": PLAN.command, "numNodes": 2}


def test_the_program_fits_into_a_container_and_needs_no_escape() -> None:
    assert all(len(word) < 64 << 10 for word in PLAN.command)
    assert not any("$(" in word for word in PLAN.command), "Kubernetes would replace it"


def test_an_image_without_python_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    ran = subprocess.run(PLAN.command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    [result] = results(ran.stderr.splitlines())
    assert (ran.returncode, result.why) == (75, "the image has no Python")


@pytest.mark.parametrize(
    ("torchrun", "names"), [(True, ("PET",)), (False, ("RANK",)), (None, ("RANK", "PET"))], ids=["yes", "no", "unknown"]
)
def test_torchrun_reads_variables_of_its_own(torchrun: bool | None, names: tuple[str, ...]) -> None:
    assert names_for("PyTorchJob", torchrun=torchrun, changed_scripts=False) == names


def test_a_changed_script_may_read_the_names_of_v2() -> None:
    assert names_for("JAXJob", torchrun=None, changed_scripts=True) == ("COORDINATOR", "JAX")
    assert names_for("JAXJob", torchrun=None, changed_scripts=False) == ("COORDINATOR",)
