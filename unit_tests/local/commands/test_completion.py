"""What the completion of a shell offers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete, ShellComplete
from click.testing import CliRunner

from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
from training_local.cluster.registry import STATE_VARIABLE
from training_local.cluster.sandbox_mode import SandboxMode
from training_operator.cli import command
from training_operator.kube.transport import Request


def completed(*words: str) -> list[str]:
    """Complete the last word."""
    shell = ShellComplete(command, {}, "training-operator", "_TRAINING_OPERATOR_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["mig"], ["migrate"]),
        (["local", "r"], ["run", "runs"]),
        (["local", "demo", "--framework", "p"], ["pytorch", "paddle"]),
        (["local", "run", "--framework", "j"], ["jax"]),
        (["migrate", "con"], ["convert"]),
        (["run", "--leader-elect"], ["--leader-elect", "--leader-election-id"]),
        (["validate", "-o", "j"], ["json"]),
    ],
)
def test_commands_options_and_choices(words: list[str], values: list[str]) -> None:
    assert completed(*words) == values


@pytest.mark.parametrize("words", [["local", "logs", ""], ["local", "shell", ""], ["local", "down", ""]])
def test_where_no_cluster_runs_there_is_no_name_and_no_word(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert completed(*words) == []
    assert completed("local", "logs", "--kubeconfig", str(tmp_path / "absent"), "") == []
    assert capfd.readouterr() == ("", "")


async def test_names_of_a_running_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    container = {"name": "jax", "image": "python", "command": ["sleep", "60"]}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    metadata = {"name": "little", "namespace": "default"}
    job: dict[str, Any] = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": metadata}
    job["spec"] = {"jaxReplicaSpecs": {"Worker": worker}}
    async with LocalCluster(ClusterOptions(sandbox=SandboxMode.HOST, name="mine")) as cluster:
        path = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"
        await cluster.transport.request(Request("POST", path, body=json.dumps(job).encode()))
        async with asyncio.timeout(30):
            while len(found := await asyncio.to_thread(completed, "local", "logs", "")) < 5:
                pass  # each look takes a round trip
        assert found == ["little", "worker-0", "worker-1", "little-worker-0", "little-worker-1"]
        assert await asyncio.to_thread(completed, "local", "logs", "worker-1") == ["worker-1"]
        assert await asyncio.to_thread(completed, "local", "shell", "little") == ["little-worker-0", "little-worker-1"]
        assert await asyncio.to_thread(completed, "local", "logs", "--name", "m") == ["mine"]
        assert await asyncio.to_thread(completed, "local", "down", "") == ["mine"]
        assert await asyncio.to_thread(completed, "local", "logs", "-n", "other", "") == []


def test_the_documented_line_gives_a_function_for_bash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BashComplete, "_check_version", lambda self: None)
    script = (
        CliRunner()
        .invoke(command, prog_name="training-operator", env={"_TRAINING_OPERATOR_COMPLETE": "bash_source"})
        .stdout
    )
    assert "complete -o nosort -F _training_operator_completion training-operator" in script
