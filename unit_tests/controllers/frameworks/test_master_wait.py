"""The ways in which PyTorch workers wait for their master; what waits in their own image is run for real."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from unit_tests.controllers.builders import load, make_job, stored_job

from training_api.kinds import Job
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.pytorch.framework import PyTorchOptions, prepares_for_workers, pytorch
from training_controllers.frameworks.pytorch.master_wait import MasterWait, wait_in_own_image
from training_controllers.model.annotations import annotation_warnings
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_pod

ANNOTATION = "extension.training.kubeflow.org/init-container"
BOTH = {"Master": 1, "Worker": 1}
LONG = "a" * 40 + ".invalid"
"""A name that no host has."""


def job(mode: str | None, **spec: Any) -> Job:
    stored = stored_job("PyTorchJob", BOTH, **spec)
    if mode is not None:
        stored["metadata"]["annotations"] = {ANNOTATION: mode}
    template = stored["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    main = template["containers"][0] | {"imagePullPolicy": "Always", "securityContext": {"runAsNonRoot": True}}
    template["containers"] = [{"name": "sidecar", "image": "other:2"}, main]
    return load("PyTorchJob", stored)


def framework(default: MasterWait = MasterWait.IMAGE) -> Framework:
    return pytorch(PyTorchOptions(init_container=default))


def init_containers(job: Job, default: MasterWait = MasterWait.IMAGE, replica_type: str = "Worker") -> Any:
    return build_pod(job, framework(default), NewPod(Slot(replica_type, 0)))["spec"].get("initContainers", [])


def test_in_the_workers_own_image() -> None:
    (container,) = init_containers(job("worker-image"))
    command = container.pop("command")
    assert (command[:2], command[3]) == (["sh", "-c"], "init-pytorch")
    assert command[-3:] == ["sim-master-0", "23456", "100"]
    assert container == {
        "name": "init-pytorch",
        "image": "example.com/train:1",
        "imagePullPolicy": "Always",
        "securityContext": {"runAsNonRoot": True},
        "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    assert init_containers(job("worker-image"), replica_type="Master") == []


def test_what_a_job_contains_is_never_part_of_a_program() -> None:
    (one,) = init_containers(job("worker-image"))
    (two,) = init_containers(job("worker-image", name="other"))
    assert one["command"][:5] == two["command"][:5]
    assert "$(" not in one["command"][2].replace("$((", ""), "Kubernetes expands $(NAME) in commands"


def test_an_elastic_job_meets_elsewhere_so_the_name_of_its_master_is_enough() -> None:
    (container,) = init_containers(job("worker-image", elasticPolicy={"rdzvBackend": "c10d"}))
    assert container["command"][-3:] == ["sim-master-0", "0", "100"]


@pytest.mark.parametrize("default", MasterWait)
def test_the_flag_holds_where_the_job_says_nothing_or_nonsense(default: MasterWait) -> None:
    image = {MasterWait.IMAGE: ["alpine:3.10"], MasterWait.WORKER_IMAGE: ["example.com/train:1"], MasterWait.NONE: []}
    for value in (None, "nonsense"):
        assert [each["image"] for each in init_containers(job(value), default)] == image[default]
    for mode in MasterWait:
        assert [each["image"] for each in init_containers(job(mode), default)] == image[mode]
    (warning,) = annotation_warnings(job("nonsense"), framework(default).annotations)
    assert warning.message.endswith(f'"{default}" applies')


def test_other_kinds_do_not_know_the_annotation() -> None:
    stored = stored_job("JAXJob", {"Worker": 1})
    stored["metadata"]["annotations"] = {ANNOTATION: "none"}
    (warning,) = annotation_warnings(load("JAXJob", stored), ())
    assert warning.message.startswith(f"annotation {ANNOTATION} has no effect")


def test_a_master_that_nobody_waits_for_appears_at_once() -> None:
    stored = stored_job("PyTorchJob", BOTH)
    stored["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["initContainers"] = [{"name": "a"}]
    for mode in MasterWait:
        stored["metadata"]["annotations"] = {ANNOTATION: mode}
        prepares = prepares_for_workers(PyTorchOptions(), load("PyTorchJob", stored), Slot("Master", 0))
        assert prepares == (mode != MasterWait.NONE)


def test_masterless_jobs_wait_for_nobody() -> None:
    workers = make_job("PyTorchJob", {"Worker": 2})
    assert init_containers(workers, MasterWait.WORKER_IMAGE) == []


def run(folder: Path, *programs: str, host: str, port: int, tries: int) -> subprocess.CompletedProcess[str]:
    """Run the command of the container where there are no programs but these; pauses take no time."""
    for name in programs:
        found = sys.executable if name == "python3" else shutil.which(name)
        assert found is not None, f"this machine has no {name}"
        (folder / name).symlink_to(Path(found).resolve())
    (folder / "sleep").symlink_to(shutil.which("true") or "/bin/true")
    command = wait_in_own_image({"image": "x"}, host=host, port=port, max_tries=tries)["command"]
    shell = shutil.which(command[0])
    assert shell is not None
    return subprocess.run(
        [shell, *command[1:]], env={"PATH": str(folder)}, capture_output=True, text=True, timeout=60, check=False
    )


def test_with_python_it_waits_until_the_port_is_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(tmp_path, "python3", host="127.0.0.1", port=port, tries=1).returncode == 0
        assert server.accept()[0].recv(1) == b"", "nothing is sent to the master"


def test_with_python_a_closed_port_or_an_unknown_name_is_waited_for_until_the_tries_are_over(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    closed = run(tmp_path, "python3", host="127.0.0.1", port=port, tries=1)
    assert (closed.returncode, closed.stderr.count("waiting for master 127.0.0.1: ")) == (1, 1)


def test_with_python_and_without_port_the_name_is_enough(tmp_path: Path) -> None:
    assert run(tmp_path, "python3", host="localhost", port=0, tries=1).returncode == 0


@pytest.mark.parametrize("program", ["getent", "nslookup"])
def test_without_python_the_name_is_enough(tmp_path: Path, program: str) -> None:
    """The programs are stand-ins, as names differ from machine to machine: they know the third try only."""
    script = tmp_path / program
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/looked_up; read a b c < {tmp_path}/state; echo "$b $c x" > '
                      f'{tmp_path}/state; [ "$a" = yes ]\n')  # fmt: skip
    script.chmod(0o755)
    (tmp_path / "state").write_text("no no yes\n")
    done = run(tmp_path, host="sim-master-0", port=23456, tries=5)
    assert (done.returncode, done.stderr) == (0, "waiting for master sim-master-0\n" * 2)
    looked_up = {"getent": "hosts sim-master-0\n", "nslookup": "sim-master-0\n"}[program]
    assert (tmp_path / "looked_up").read_text() == looked_up * 3


def test_the_real_getent(tmp_path: Path) -> None:
    assert run(tmp_path, "getent", host="localhost", port=1, tries=1).returncode == 0


def test_getent_gives_up_after_its_tries(tmp_path: Path) -> None:
    script = tmp_path / "getent"
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    done = run(tmp_path, host=LONG, port=1, tries=3)
    assert (done.returncode, done.stderr.count("waiting")) == (1, 2)


def test_an_image_without_any_of_them_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, host="sim-master-0", port=1, tries=3)
    assert done.returncode == 1
    assert done.stderr == "this image has none of python3, python, getent, nslookup to wait for sim-master-0 with\n"
