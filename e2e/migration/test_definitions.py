"""Our copies of Trainer's manifests are those of the version whose controllers the other tests run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from e2e.harness.binaries import TRAINER, programs
from e2e.support import marks
from e2e.support.definitions.__main__ import smallest
from e2e.support.paths import ROOT

pytestmark = marks.bare  # the manifests come with its Go modules

COPIES = sorted((ROOT / "e2e" / "support" / "definitions" / "trainer").glob("*.json"))


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.stem)
def test_copy(copy: Path) -> None:
    base = programs((TRAINER,))["trainer-manifests"] / "base"
    manifests = [
        yaml.safe_load(file.read_text()) for name in ("crds", "runtimes") for file in (base / name).glob("*.yaml")
    ]
    [published] = [each for each in manifests if each.get("metadata", {}).get("name") == copy.stem]
    assert json.loads(copy.read_text()) == smallest(published)
