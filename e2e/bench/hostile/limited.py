"""An operator that may use no more memory than the manifests give it, and how long its event loop stands still."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from e2e.bench.hostile import probe
from e2e.harness.operator import PROGRAM, Operator
from e2e.support.paths import ROOT

from training_api.quantity import parse
from training_local.node.cgroups import Group, open_hierarchies

DEPLOYMENT = ROOT / "deploy" / "base" / "deployment.yaml"
ENTER = 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift; exec "$@"'
"""Enters control groups, then becomes another program."""


def shipped_limit() -> int:
    """Bytes of memory that the operator's container may use."""
    deployment = next(each for each in yaml.safe_load_all(DEPLOYMENT.read_text()) if each["kind"] == "Deployment")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return int(parse(container["resources"]["limits"]["memory"]))


@contextmanager
def memory_limited() -> Iterator[Group | None]:
    """A control group with that limit; None where this machine does not allow it."""
    hierarchies = open_hierarchies(f"hostile-{os.getpid()}")
    try:
        group = hierarchies.group("operator") if hierarchies.folders else None
        if group is not None:
            group.limit(shipped_limit(), None)
        yield group
    finally:
        hierarchies.close()


@contextmanager
def limited_operator(kubeconfig: Path, log: Path, group: Group | None, *flags: str) -> Iterator[Operator]:
    """An operator that is ready, inside of the group; it has to be alive at the end."""
    entrances = group.entrances if group is not None else ()
    operator = Operator(kubeconfig, log, *flags, program=("sh", "-c", ENTER, "sh", *entrances, "--", PROGRAM))
    try:
        operator.wait_ready()
        yield operator
        operator.child.check_alive()
    finally:
        operator.child.kill()


@dataclass
class Heartbeat:
    """The longest times of `probe`, in milliseconds."""

    stall_ms: float = 0.0
    """From a request until its answer, waiting for a processor included."""
    apart_ms: float = 0.0
    """The same without what the operator and the probe waited for a processor."""
    computing_ms: float = 0.0
    """What the operator's event loop computed meanwhile."""
    idle_ms: float = 0.0
    """Until the answer of a program that has nothing else to do."""


@contextmanager
def heartbeat(operator: Operator) -> Iterator[Heartbeat]:
    """Look at the event loop inside of the context; what was seen is there at its end."""
    seen, command = Heartbeat(), [sys.executable, "-m", probe.__name__, operator.probes, str(operator.child.pid)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as looking:
        try:
            yield seen
        finally:
            told, _ = looking.communicate()
            vars(seen).update(json.loads(told))
