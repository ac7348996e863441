"""`training-operator local`, as a user starts it: exit statuses, what it prints, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.bombs import BOMBS
from e2e.support.little_job import PRINT_RANK, little_job, write
from e2e.support.local_node import needs_namespaces
from e2e.support.warm import Warm
from unit_tests.local.conftest import Local

from training_local.run.examples import DEMOS


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the commands put temporary files; must be empty when they have ended."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == list(state.glob("clusters/[!.]*")) == []


PIPES: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def command(*arguments: str) -> Warm:
    """Start the command, as a process of its own."""
    return Warm(["local", *arguments], **PIPES)


@pytest.mark.parametrize("sandbox", ["auto", "host"])
def test_a_job_runs_to_its_end(tmp_path: Path, local: Local, sandbox: str) -> None:
    status, out, err = local("run", "--sandbox", sandbox, write(tmp_path, little_job(*PRINT_RANK)))
    assert (status, err) == (0, "")
    assert "worker-0 | rank 0 of 2\n" in out
    assert "worker-1 | rank 1 of 2\n" in out
    assert "  Succeeded  True  JAXJob default/little successfully completed.\n" in out


def test_a_failed_job_says_why_and_has_status_1(tmp_path: Path, local: Local) -> None:
    job = little_job("python", "-c", "import os, sys; sys.exit(3 * int(os.environ['PROCESS_ID']))")
    status, out, _ = local("run", "--json", write(tmp_path, job))
    *lines, end = map(json.loads, out.splitlines())
    last = [line["progress"] for line in lines if "progress" in line][-1]
    assert status == 1
    assert end["end"]["firstCause"]["end"]["exitCode"] == 3
    assert last["state"] == "Failed"
    assert "little-worker-1: container jax exited with code 3" in last["conditions"][-1]["message"]


@needs_namespaces
def test_a_hidden_file_is_named_with_the_failure(tmp_path: Path, local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (data := tmp_path / "data.txt").touch()
    assert str(data).startswith("/tmp/")
    status, out, _ = local("run", write(tmp_path, little_job("python", "-c", f"open('{data}')", workers=1)))
    assert status == 1
    assert f"  Warning: container jax does not see {data} of this machine, because its temporary files are its " in out


def test_a_killed_worker_is_restarted_where_its_policy_says_so(tmp_path: Path, local: Local) -> None:
    script = (
        "import os, pathlib, signal; mark = pathlib.Path('/dev/shm/tried')\n"
        "if not mark.exists(): mark.touch(); os._exit(137)\n"
        "print('second try')"
    )
    job = little_job("python", "-c", script, workers=1, restart="OnFailure")
    status, out, _ = local("run", write(tmp_path, job))
    assert status == 0
    assert "worker-0 | second try\n" in out
    assert "1 restart, " in out


def test_giving_up_after_a_time_has_its_own_status(tmp_path: Path, local: Local) -> None:
    status, _, err = local("run", "--timeout", "1", write(tmp_path, little_job("sleep", "60")))
    assert (status, err.partition(": ")[0]) == (124, "JAXJob default/little did not end within 1 s")


def test_an_interrupt_ends_everything(tmp_path: Path) -> None:
    job = write(tmp_path, little_job("sh", "-c", "echo up; exec sleep 60"))
    process = command("run", job)
    process.until("| up")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_cluster_for_kubectl_ends_with_status_0_and_takes_its_kubeconfig_along(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    process = command("up", "--kubeconfig", str(kubeconfig))
    process.until(str(kubeconfig))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not kubeconfig.exists()


def test_a_rejected_job_is_one_sentence(tmp_path: Path, local: Local) -> None:
    job = little_job(*PRINT_RANK)
    job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "main"
    status, _, err = local("run", write(tmp_path, job))
    assert status == 2
    assert err.startswith("training-operator local: JAXJob little is invalid: spec.jaxReplicaSpecs[Worker].")
    assert "must have at least one container with name jax" in err
    assert len(err.splitlines()) == 1


def test_an_unknown_demo_is_one_sentence(local: Local) -> None:
    status, _, err = local("demo", "--framework", "abacus")
    assert status == 2
    assert f"'abacus' is not one of {', '.join(map(repr, DEMOS))}" in err


MASTER = """
import os, socket, time
time.sleep(0.3)
with socket.create_server(("", int(os.environ["MASTER_PORT"]))) as server:
    for _ in range(2):  # the container that waits, and the worker
        said = server.accept()[0].makefile().read()
print("master heard", said)
"""
WORKER = """
import os, socket
with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))) as master:
    master.sendall(b"hello")  # the first try must do
"""


def test_pytorch_workers_wait_in_their_own_image_until_the_master_listens(tmp_path: Path, local: Local) -> None:
    specs = {}
    for replica_type, script in (("Master", MASTER), ("Worker", WORKER)):
        container = {"name": "pytorch", "image": "example.com/train:1", "command": ["python", "-c", script]}
        template = {"spec": {"containers": [container]}}
        specs[replica_type] = {"replicas": 1, "restartPolicy": "Never", "template": template}
    metadata = {"name": "meet", "annotations": {"extension.training.kubeflow.org/init-container": "worker-image"}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    status, out, err = local("run", write(tmp_path, {**job, "spec": {"pytorchReplicaSpecs": specs}}))
    assert (status, err) == (0, ""), out
    assert "master-0 | master heard hello\n" in out


def test_a_bomb_is_one_sentence(tmp_path: Path) -> None:
    bomb, sentence = BOMBS["merges"]
    file = tmp_path / "bomb.yaml"
    file.write_text(bomb)
    process = command("run", str(file))
    output = process.communicate(timeout=30)
    assert (process.returncode, output[0]) == (2, "")
    assert output[1].startswith(f"training-operator local: {file}:")
    assert sentence in output[1]
    assert output[1].count("\n") == 1


def test_a_file_that_never_comes_is_given_up_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "job.yaml"
    os.mkfifo(pipe)
    process = command("run", str(pipe))
    with pipe.open("w"):  # it reads now, and would for ever
        process.terminate()
        assert process.wait(timeout=10) == -signal.SIGTERM
    process.communicate()


def test_more_replicas_than_the_maximum_are_rejected(tmp_path: Path, local: Local) -> None:
    status, _, err = local("run", write(tmp_path, little_job("true", workers=2**31 - 1)))
    assert status == 2
    assert "JAXJob little is invalid" in err
    assert "spec.jaxReplicaSpecs[Worker].replicas: Invalid value: 2147483647" in err.replace(".Worker.", "[Worker].")


def test_a_module_that_is_missing_ends_the_run(local: Local, tmp_path: Path) -> None:
    job = little_job("python", "-c", "import no_such_module", workers=3, restart="OnFailure")
    code, _, err = local("run", write(tmp_path, job))
    assert code == 2
    assert "has no module no_such_module; type: " in err


def test_a_script_runs_without_a_job(local: Local, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"import sys; {PRINT_RANK[-1]}; print(sys.argv[1:])")
    saved = tmp_path / "job.yaml"
    options = ("--workers", "2", "--framework", "jax", "--save", str(saved))
    code, out, err = local("run", str(script), *options, "--", "--epochs", "3")
    assert code == 0, err
    assert "worker-1 | rank 1 of 2" in out
    assert "worker-0 | ['--epochs', '3']" in out
    assert yaml.safe_load_all(saved.read_text())
    code, _, err = local("run", str(saved), "--workers", "3")
    assert code == 2
    assert "need a script" in err
