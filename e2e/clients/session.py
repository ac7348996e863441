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
