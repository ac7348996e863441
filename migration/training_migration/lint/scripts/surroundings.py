"""What scripts say of MPI, of exit codes, and of v1's labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from training_migration.lint.checks import Spot
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.scripts.script import Script

_SCALE: Final = re.compile(r"\bkubectl\b.*\bscale\b.*\b(?:pytorchjobs?|paddlejobs?|jaxjobs?|tfjobs?|xgboostjobs?)\b")
_OTHER_MPI: Final = re.compile(
    r"\b(I_MPI_\w+|mpiexec\.hydra|PRTE_MCA_\w+|MPICH_\w+|HYDRA_\w+|prterun)\b"
    r"|\b(open-?mpi)[-_/:= v]*5(?:\.\d+)*\b|\b(mpich|intel-?mpi|mvapich2?)\b",
    re.IGNORECASE,
)
_KUBECTL: Final = re.compile(
    r"kubexec\.sh|discover_hosts\.sh|--host-discovery-script|/opt/kube/kubectl|\bkubectl\s+(?:\S+\s+)*?exec\b"
)
_RETRY: Final = re.compile(r"\b(?:sys\.exit|os\._exit|exit)\(?\s*\(?\s*(12[89]|1[3-9]\d|2[0-4]\d|25[0-5])\b")
_LABEL: Final = re.compile(r"training\.kubeflow\.org/[\w-]+")


@SCRIPTS.rule("MIG203")
def scaled(script: Script) -> Iterator[Spot]:
    """A job whose number of workers is changed from outside."""
    for line in script.commands:
        if _SCALE.search(line.text):
            yield Spot("`kubectl scale` changes a job of v1; a TrainJob has no scale.", line=line.number)


@SCRIPTS.rule("MIG209")
def other_mpi(script: Script) -> Iterator[Spot]:
    """Signs of Open MPI 5, Intel MPI, MPICH."""
    for line in script.lines:
        if (found := _OTHER_MPI.search(line.text)) and found[1] not in script.given:
            yield Spot(f"{found[0]!r} is of an MPI that v2 does not set up.", line=line.number)


@SCRIPTS.rule("MIG211")
def kubectl_in_mpi(script: Script) -> Iterator[Spot]:
    """Programs that v1 put into pods of MPI jobs."""
    if "MPIJob" not in script.kinds and script.kind is not None:
        return
    for line in script.lines:
        if found := _KUBECTL.search(line.text):
            what = "kubectl exec" if found[0].startswith("kubectl") else found[0]
            yield Spot(f"{what!r} came from v1's operator; v2 has SSH and a fixed host file.", line=line.number)


@SCRIPTS.rule("MIG303")
def asks_for_a_restart(script: Script) -> Iterator[Spot]:
    """Exit codes of 128 or above, by which a script asks v1 to start it again."""
    for line in script.lines:
        if found := _RETRY.search(line.text):
            message = f"exit code {found[1]} asks v1 for a restart under ExitCode; a Job sees a failure."
            yield Spot(message, line=line.number)


@SCRIPTS.rule("MIG401")
def own_labels(script: Script) -> Iterator[Spot]:
    """Labels that v1 put on pods."""
    for line in script.lines:
        if found := _LABEL.search(line.text):
            yield Spot(f"{found[0]} is a label of v1's pods; v2's have none of it.", line=line.number)
