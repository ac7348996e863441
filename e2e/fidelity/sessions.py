"""Sessions with kubectl: commands and what they print, equal on the real and the embedded API server.

Recordings are kept per minor version of kubectl, because its own words change between versions.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from e2e.fidelity.commands import SESSIONS, Step
from e2e.fidelity.plain import Plain
from e2e.fidelity.player import PATIENCE, Player, session_of
from e2e.fidelity.suite import new_namespace, prepare
from e2e.harness.binaries import KUBECTLS, programs
from e2e.harness.cluster import CRDS

Transcript = list[dict[str, Any]]

_VARYING = [
    (re.compile(pattern), placeholder)
    for pattern, placeholder in (
        (r"(resourceVersion\"?: \"?|Resource Version: +)\d+", r"\1<version>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "<time>"),
        (r"(?<=\s)(\d+(?:ms|s|m|h|d|y))+(?=\s|$)|<invalid>", "<age>"),
        (r"/tmp/\S*?(LIVE|MERGED)-\d+", r"<\1>"),
        (r"/tmp/kubectl\S*-edit-\d+\.yaml", "<edited>"),
        (r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", r"\1 <stamp> "),
    )
]
_SPACES = re.compile(r"  +")


def recording(minor: str) -> str:
    """Name of the recording of one version of kubectl."""
    return f"kubectl-1.{minor}"


async def play_session(minor: str, kubeconfig: Path, name: str, cache: Path) -> Transcript:
    """Run a session with one kubectl in a namespace of its own; `cache` is where it may keep what it discovers."""
    namespace = f"session-{secrets.token_hex(4)}"
    async with session_of(kubeconfig) as (session, server):
        await prepare(session, server)
        player = Player(session, server, namespace)
        await _define_jobs(player)
        await new_namespace(player)
        kubectl = str(programs()[KUBECTLS[minor]])
        base = [kubectl, f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}", f"--namespace={namespace}"]
        plain, transcript = Plain(namespace), list[dict[str, Any]]()
        for step in SESSIONS[name]:
            status, output, errors = await _run(step, base, namespace)
            lines = [line for line in _lines(output, server) if "\t<" in line or not step.fields_only]
            said = {"command": step.command, "status": status, "output": lines, "errors": _lines(errors, server)}
            transcript.append(plain(said))
        await player.quietly("DELETE", f"/api/v1/namespaces/{namespace}")
        await player.quietly("DELETE", "pods", {"gracePeriodSeconds": 0})
    return transcript


async def _define_jobs(player: Player) -> None:
    definition = yaml.load((CRDS / "kubeflow.org_pytorchjobs.yaml").read_text(), Loader=yaml.CSafeLoader)
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await player.quietly("POST", collection, definition)
    await player.until("/apis/kubeflow.org/v1/pytorchjobs", lambda answer: answer.status == 200)


async def _run(step: Step, base: Sequence[str], namespace: str) -> tuple[int | None, str, str]:
    """Run a step; with commands for the time meanwhile it is stopped once it has answered all of them."""
    environment = {**os.environ, "KUBE_EDITOR": step.editor, "TZ": "UTC", "LC_ALL": "C"}
    words = step.command.replace("<namespace>", namespace).split()
    process = await asyncio.create_subprocess_exec(*base, *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment)
    if not step.meanwhile:
        output, errors = await process.communicate(step.stdin.encode())
        return process.returncode, output.decode(), errors.decode()
    assert process.stdout is not None
    said = list[bytes]()
    try:
        async with asyncio.timeout(PATIENCE):
            for lines, command in step.meanwhile:
                said += [await process.stdout.readline() for _ in range(lines)]
                if command:
                    await _run(Step(command), base, namespace)
    finally:
        process.terminate()
        await process.wait()
    return None, b"".join(said).decode(), ""


def _lines(text: str, server: str) -> list[str]:
    """The lines without ages, widths of columns, klog's stamps, names of temporary files and the server's address."""
    found: list[str] = []
    for line in text.rstrip("\n").split("\n") if text else ():
        plain = line.replace(server, "<server>")
        for pattern, placeholder in _VARYING:
            plain = pattern.sub(placeholder, plain)
        found.append(_SPACES.sub("  ", plain).rstrip())
    return found
