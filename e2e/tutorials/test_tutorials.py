"""Every tutorial works as it stands: its files are saved, its commands run in order, and print what the page shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.clients.environment import client_python
from e2e.harness.cluster import Cluster
from e2e.integrations.kueue.controller import queueing_cluster
from e2e.support import marks
from e2e.support.paths import ROOT
from e2e.support.skips import without_pytorch
from e2e.tutorials.walk import Command, read, walk

PAGES = ROOT / "docs" / "tutorials"
PYTHON = "/usr/bin/python3"
"""The machine's own, for which distributions have torch."""
SETTINGS_CLASSES = ROOT / "e2e" / "clients" / "train_dependencies"
"""In the place of `peft` and `transformers`, which are gigabytes."""

LONG = [pytest.param(page, marks=pytest.mark.weekly) for page in ("elastic.md", "fine-tune.md", "notebook.md")]
"""They train for long, or repeat what `e2e/clients` tries."""


@pytest.fixture
def environment(cluster: Cluster, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A user with `kubectl`, a home and a folder for local clusters, all of which end with the test."""
    programs = tmp_path / "programs"
    programs.mkdir()
    kubectl = shutil.which(cluster.kubectl)
    assert kubectl is not None
    (programs / "kubectl").symlink_to(kubectl)
    (tmp_path / "folder").mkdir()
    path = f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin"
    variables = {"PATH": path, "HOME": str(tmp_path), "TRAINING_OPERATOR_STATE": str(tmp_path / "state")}
    yield variables
    end: list[str | Path] = [Path(sys.executable).with_name("training-operator"), "local", "down", "--all"]
    subprocess.run(end, env=variables, check=True, timeout=60)


@marks.local  # pods must run
@pytest.mark.parametrize("page", ["first-job.md", *LONG])
def test_on_a_laptop(page: str, environment: dict[str, str], tmp_path: Path) -> None:
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        without_pytorch(f"{PYTHON} has no torch")
    tutorial = read(PAGES / page)
    if any("sdk/bin" in command.line for command in tutorial.commands):
        (tmp_path / "folder" / "sdk").symlink_to(client_python().parent.parent)
    walk(tutorial, tmp_path / "folder", environment | {"PYTHONPATH": str(SETTINGS_CLASSES)})


@pytest.mark.weekly  # e2e/process/test_plugin.py runs another kind on the local cluster
@marks.local  # pods must run
def test_a_kind_of_ones_own(environment: dict[str, str], tmp_path: Path) -> None:
    """In a virtual environment that sees the packages of this one, so that nothing of the clone is changed."""
    clone = Path(sys.prefix)
    here = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", here], check=True, timeout=120)
    [packages] = here.glob("lib/python*/site-packages")
    [theirs] = clone.glob("lib/python*/site-packages")
    (packages / "clone.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n")
    program = (clone / "bin" / "training-operator").read_text().partition("\n")[2]
    (here / "bin" / "training-operator").write_text(f"#!{here}/bin/python\n{program}")
    (here / "bin" / "training-operator").chmod(0o755)
    walk(read(PAGES / "write-your-own-kind.md"), tmp_path / "folder", environment, {".venv": here})


@pytest.mark.weekly  # e2e/integrations/kueue tries the same queues
@marks.bare  # Kueue is installed into a cluster of its own
@pytest.mark.parametrize("page", ["share-a-cluster.md"])
def test_with_kueue(page: str, environment: dict[str, str], tmp_path: Path) -> None:
    with queueing_cluster(tmp_path) as (cluster, _):
        walk(read(PAGES / page), tmp_path / "folder", environment | {"KUBECONFIG": str(cluster.kubeconfig)})


def test_a_line_that_is_not_printed_is_missing() -> None:
    command = Command("x", ("rank 0 of ...: 30", "done"))
    assert command.missing("rank 0 of 3:  30\nand done\n") == ["done"]
