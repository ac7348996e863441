"""`local run` of jobs that cannot run here: it ends, says why, and how they could."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.support.little_job import PRINT_RANK, little_job, write
from e2e.support.paths import ROOT
from unit_tests.local.conftest import Local

pytestmark = pytest.mark.usefixtures("state")


def job_with(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A job whose containers and pods have further fields."""
    job = little_job(*PRINT_RANK)
    pod = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]
    pod |= spec
    pod["containers"][0] |= container or {}
    return job


def hungry(**requests: str) -> dict[str, Any]:
    return job_with({"resources": {"requests": requests}})


WITHOUT_COMMAND = job_with({"command": None})


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (WITHOUT_COMMAND, "CreateContainerConfigError"),
        (job_with(nodeSelector={"gpu": "a100"}), "didn't match Pod's node affinity/selector"),
        (hungry(cpu="4k"), "--scale-resources makes the requests fit"),
    ],
    ids=["no command", "no such node", "too large"],
)
def test_a_job_that_nothing_can_help_ends_with_status_2(
    tmp_path: Path, local: Local, job: dict[str, Any], message: str
) -> None:
    status, _, err = local("run", "--sandbox", "host", "--patience", "0", "--timeout", "60", write(tmp_path, job))
    assert status == 2
    [sentence] = err.splitlines()
    assert sentence.startswith("JAXJob default/little cannot start: worker-0 (and 1 more) waits: ")
    assert message in sentence


def test_an_mpi_job_over_ssh_is_rejected_in_host_mode_before_its_first_pod(tmp_path: Path, local: Local) -> None:
    file = tmp_path / "job.yaml"
    file.write_text((ROOT / "examples/mpi/mpijob-ssh.yaml").read_text().replace("mpirun", "true"))
    status, out, err = local("run", "--sandbox", "host", str(file))
    assert (status, "mpi-ssh-" in out) == (2, False)
    assert "host mode cannot run an MPIJob that starts over SSH" in err
    assert "start it through kubectl exec, as examples/mpi/mpijob.yaml does" in err


def test_a_program_takes_the_place_of_an_image(tmp_path: Path, local: Local) -> None:
    how = ("--sandbox", "host", "--patience", "0", "--timeout", "60", write(tmp_path, WITHOUT_COMMAND))
    assert "--image-program example.com/train:1=COMMAND" in local("run", *how)[2]
    status, out, _ = local("run", "--image-program", "example.com/train=echo it runs", *how)
    assert status == 0
    assert "it runs" in out
    status, _, err = local("run", "--image-program", "example.com/train", *how)
    assert status == 2
    assert "Invalid value for '--image-program': example.com/train: It cannot be read" in err


def test_the_message_names_what_the_machine_offers(tmp_path: Path, local: Local) -> None:
    small = ("--cpus", "3", "--memory", "5Gi", "--patience", "0")
    status, _, err = local("run", "--sandbox", "host", *small, "--timeout", "60", write(tmp_path, hungry(memory="6Gi")))
    assert status == 2
    assert ". This machine offers 3 CPUs and 5Gi of memory: --scale-resources makes the requests fit" in err
    assert ".." not in err


@pytest.mark.parametrize("flags", [["--scale-resources"], ["--cpus", "10000", "--memory", "2Ti"]])
def test_a_job_of_a_large_cluster_runs_small(tmp_path: Path, local: Local, flags: list[str]) -> None:
    job = write(tmp_path, hungry(cpu="4k", memory="1Ti"))
    status, out, err = local("run", "--sandbox", "host", *flags, "--timeout", "60", job)
    assert (status, err) == (0, "")
    assert "worker-1 | rank 1 of 2\n" in out


def test_what_is_no_amount_of_memory_is_rejected(tmp_path: Path, local: Local) -> None:
    status, _, err = local("run", "--memory", "much", write(tmp_path, little_job(*PRINT_RANK)))
    assert status == 2
    assert "'much' is not a quantity of bytes such as 64Gi" in err
