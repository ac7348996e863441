"""The manifest for krew, by the rules of its index for developers of plugins."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from e2e.harness.binaries import KREW, programs
from e2e.support import marks
from e2e.tools.krew import ARCHITECTURES, manifest

from training_operator import __version__

pytestmark = marks.local  # no cluster at all; once is enough
SUMS = {name: f"{index}" * 64 for index, name in enumerate(ARCHITECTURES)}


def test_the_manifest_names_an_archive_of_the_release_for_each_architecture() -> None:
    written = manifest("https://example.com/me/operator", SUMS, "3.13")
    assert (written["apiVersion"], written["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert re.fullmatch(r"[a-z][a-z-]*", written["metadata"]["name"])
    spec = written["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"]), "krew rejects a version without v"
    assert len(spec["shortDescription"]) <= 50
    assert not spec["shortDescription"].endswith(".")
    assert "python3.13" in spec["caveats"]
    found = {each["selector"]["matchLabels"]["arch"]: each for each in spec["platforms"]}
    assert {name: each["sha256"] for name, each in found.items()} == SUMS
    for name, each in found.items():
        release = f"https://example.com/me/operator/releases/download/v{__version__}"
        assert each["uri"] == f"{release}/kubectl-training-linux-{name}.tar.gz"
        assert each["bin"] == "kubectl-training", "kubectl finds `kubectl training` by this name"


@pytest.mark.weekly
def test_krews_own_validator_accepts_the_manifest(tmp_path: Path) -> None:
    """All but the installation, for which the archives would have to be published."""
    validator = programs((KREW,))["validate-krew-manifest"]

    def said(**changed: str) -> str:
        written = manifest("https://example.com/me/operator", SUMS, "3.13")
        file = tmp_path / "training.yaml"
        file.write_text(yaml.safe_dump({**written, "spec": {**written["spec"], **changed}}))
        command = [str(validator), f"-manifest={file}", "-skip-install"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    assert said() == ""
    assert "version" in said(version="0.1.0"), "krew rejects a version without v"
