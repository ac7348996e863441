"""Our copies of Trainer's manifests are those of the version whose controllers the other tests run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.harness.binaries import TRAINER, programs
from e2e.support import marks
from e2e.support.definitions.__main__ import smallest
from e2e.support.paths import ROOT

pytestmark = marks.bare  # the manifests come with its Go modules

COPIES = sorted((ROOT / "e2e" / "support" / "definitions" / "trainer").glob("*.json"))


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    """The manifests of the release by name."""
    base = programs((TRAINER,))["trainer-manifests"] / "base"
    files = (file for name in ("crds", "runtimes") for file in (base / name).glob("*.yaml"))
    manifests = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in files]
    return {each["metadata"]["name"]: each for each in manifests if "metadata" in each}


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.stem)
def test_copy(published: dict[str, Any], copy: Path) -> None:
    assert json.loads(copy.read_text()) == smallest(published[copy.stem])
