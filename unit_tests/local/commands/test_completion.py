"""What the completion of a shell offers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.shell_completion import BashComplete, ShellComplete
from click.testing import CliRunner
from e2e.support.little_job import little_job

from training_local.cluster.local_cluster import ClusterOptions, LocalCluster
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
    words: list[str], state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert completed(*words) == []
    assert completed("local", "logs", "--kubeconfig", str(state / "absent"), "") == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("state")
async def test_names_of_a_running_cluster() -> None:
    async with LocalCluster(ClusterOptions(sandbox=SandboxMode.HOST, name="mine")) as cluster:
        path = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"
        await cluster.transport.request(Request("POST", path, body=json.dumps(little_job("sleep", "60")).encode()))
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
    environment = {"_TRAINING_OPERATOR_COMPLETE": "bash_source"}
    done = CliRunner().invoke(command, prog_name="training-operator", env=environment)
    assert "complete -o nosort -F _training_operator_completion training-operator" in done.stdout
