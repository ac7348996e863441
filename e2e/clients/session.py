"""Running a session with the SDK in the clients' environment, and reading what it saw."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.clients.environment import client_python
from e2e.support.paths import ROOT

LIMIT = 300.0
"""Seconds; a session usually takes ten to twenty."""
REPORT = '{"rank"'
"""Begin of the line in which a rank tells its results; torchrun puts words before it."""
Seen = Callable[[str], Any]
"""What was seen of a topic; a topic that failed fails the test that asks for it."""


def session(module: str, kubeconfig: Path, *topics: str) -> Seen:
    """Run a module of `e2e.clients` against a cluster."""
    done = subprocess.run(
        [client_python(), "-m", f"e2e.clients.{module}", *topics],
        cwd=ROOT,
        env={"KUBECONFIG": str(kubeconfig), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)

    def seen(topic: str) -> Any:
        if isinstance(told[topic], dict) and (error := told[topic].get("error")):
            pytest.fail(error, pytrace=False)
        return told[topic]

    return seen


def check_fine_tuned(told: dict[str, Any]) -> None:
    """The init container has filled the volume, and both ranks have trained one model on what it left there."""
    assert told["initialized"] == "made what stands for hf://example/model and file\n"
    lines = [line for log in told["logs"].values() for line in log.splitlines() if REPORT in line]
    reports = [json.loads(line[line.index(REPORT) :]) for line in lines]
    assert sorted((each["rank"], each["worldSize"], each["host"]) for each in reports) == [
        (0, 2, "tuned-master-0"),
        (1, 2, "tuned-worker-0"),
    ]
    assert len({each["weights"] for each in reports}) == 1
    assert all(each["lastLoss"] < 0.8 * each["firstLoss"] for each in reports), reports
