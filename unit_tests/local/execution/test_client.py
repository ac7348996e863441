"""What is asked of the API to execute a program."""

from __future__ import annotations

from training_local.execution.client import Execution


def test_a_terminal_has_one_output() -> None:
    shell = Execution("default", "sim-worker-0", "jax", ["sh"], stdin=True, tty=True)
    assert shell.query == [
        ("container", "jax"),
        ("stdin", "true"),
        ("stdout", "true"),
        ("tty", "true"),
        ("command", "sh"),
    ]
    command = Execution("default", "sim-worker-0", "jax", ["ls", "-l"], stdin=False)
    assert [name for name, _ in command.query] == ["container", "stdout", "stderr", "command", "command"]
    assert command.path == "/api/v1/namespaces/default/pods/sim-worker-0/exec"


def test_without_a_container_the_server_chooses() -> None:
    assert "container" not in dict(Execution("default", "worker-0", "", ["true"], stdin=False).query)
