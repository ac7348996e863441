"""Notes which training tests have passed, for the page docs/what-runs.md: `pytest e2e/training -n 0 --record`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from e2e.harness.recordings import write
from e2e.support.documentation.what_runs import RECORDED, RecordedRun, recorded_runs

ASK = "import importlib.metadata as m, json, sys; print(json.dumps([m.version(name) for name in sys.argv[1:]]))"


def note(
    test: str,
    python: Path,
    *,
    packages: Sequence[str],
    library: str,
    kind: str,
    shown: str,
    where: str = "local cluster",
) -> None:
    """Keep that this test has passed today with these packages of a Python, in the place of its last run."""
    told = subprocess.run([python, "-c", ASK, *packages], check=True, capture_output=True, text=True).stdout
    versions = ", ".join(f"{name} {version}" for name, version in zip(packages, json.loads(told), strict=True))
    keep(test, library=library, versions=versions, kind=kind, shown=shown, where=where)


def keep(test: str, *, library: str, versions: str, kind: str, shown: str, where: str) -> None:
    """Keep that a test has passed today, in the place of its last run."""
    day = datetime.now(UTC).date().isoformat()
    run = RecordedRun(library=library, versions=versions, kind=kind, shown=shown, where=where, date=day, test=test)
    others = [each for each in recorded_runs() if each["test"] != test] if RECORDED.exists() else []
    write(RECORDED, sorted([*others, run], key=lambda each: (each["kind"], each["library"], each["test"])), 1)
