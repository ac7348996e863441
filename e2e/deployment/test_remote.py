"""Installing by URL and tag, and with an own image, as docs/releasing.md says: from a repository with a tag."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from e2e.deployment.installation import DEPLOY, RELEASED, of_kind, render
from e2e.harness.binaries import KUSTOMIZE, programs
from e2e.harness.cluster import Cluster
from e2e.support import marks
from e2e.support.paths import ROOT

pytestmark = marks.real
PAGE = (ROOT / "docs" / "releasing.md").read_text()
PUBLISHED = "https://github.com/OWNER/training-operator"
OWN = "ghcr.io/OWNER/training-operator:0.1.0"


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """The URL of a repository that has what lies here as its tag v0.1.0."""
    folder = tmp_path / "training-operator.git"
    folder.mkdir()
    git = ("git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@example.com")
    for command in (
        (*git, "init", "--quiet"),
        ("cp", "--recursive", str(DEPLOY), str(ROOT / "crds"), str(folder)),
        (*git, "add", "--all"),
        (*git, "commit", "--quiet", "--message=release"),
        (*git, "tag", "v0.1.0"),
    ):
        subprocess.run(command, check=True)
    return f"file://{folder}"


def test_an_overlay_is_taken_by_url_and_tag(cluster: Cluster, repository: str) -> None:
    [url] = re.findall(r"^kubectl apply -k '(.*)'$", PAGE, re.MULTILINE)
    shown = cluster.run_kubectl("kustomize", url.replace(PUBLISHED, repository))
    assert list(yaml.load_all(shown, Loader=yaml.CSafeLoader)) == render(cluster, DEPLOY / "overlays" / "standalone")


def test_an_own_image_is_set(cluster: Cluster, repository: str, tmp_path: Path) -> None:
    commands = re.findall(r"^kustomize (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    folder = tmp_path / "own"
    folder.mkdir()
    for command in commands:
        words = shlex.split(command.replace(PUBLISHED, repository))
        subprocess.run([programs((KUSTOMIZE,))["kustomize"], *words], cwd=folder, check=True)
    deployment = of_kind(render(cluster, folder), "Deployment")["training-operator"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == OWN
    assert OWN != RELEASED
