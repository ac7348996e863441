"""What torchrun makes of launch lines of libraries that need GPUs: its own parser records it, and starts nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

RECORDER = """\
#!/usr/bin/env python
import contextlib, json, socket, sys, time
from torch.distributed.run import config_from_args, parse_args
config, _, command = config_from_args(parse_args(sys.argv[1:]))
print(json.dumps({
    "nodes": [config.min_nodes, config.max_nodes], "processes": config.nproc_per_node, "backend": config.rdzv_backend,
    "endpoint": config.rdzv_endpoint, "node": config.rdzv_configs.get("rank"), "command": command,
}), flush=True)
host, _, port = config.rdzv_endpoint.partition(":")
if socket.gethostname() == host:
    socket.create_server(("", int(port))).accept()
while socket.gethostname() != host:
    with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
        break
    time.sleep(0.1)
"""
"""It meets the other one as torchrun would: the job ends with its master, whose worker may not have begun by then."""
FOLDER = "/etc/recorder"


def launch_line(library: str) -> pytest.MarkDecorator:
    """What such a test shows of a library."""
    shown = "command line only, by torchrun's own parser: nodes, node rank, processes, rendezvous"
    return pytest.mark.recorded(library=library, kind="PyTorchJob", shown=shown, packages=("torch",))


def recorded(example: Example) -> Example:
    """Let the pods of the job find the recorder as torchrun."""
    maps = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "recorder"}, "data": {"torchrun": RECORDER}}
    example.others.append(maps)
    for replica in example.replicas.values():
        spec = replica["template"]["spec"]
        spec["volumes"] = [{"name": "recorder", "configMap": {"name": "recorder", "defaultMode": 0o755}}]
    for container in example.containers():
        container["volumeMounts"] = [{"name": "recorder", "mountPath": FOLDER}]
        *shell, script = container["command"]
        container["command"] = [*shell, f'PATH="{FOLDER}:$PATH"; {script}']
    return example


@pytest.mark.framework(name="pytorch")
@pytest.mark.parametrize(
    ("library", "backend", "nodes"),
    [
        pytest.param("pretrain-gpt", "static", [0, 1], marks=launch_line("Megatron-LM"), id="megatron"),
        pytest.param("nemo", "c10d", [None, None], marks=(launch_line("NeMo"), pytest.mark.weekly), id="nemo"),
    ],
)
async def test_a_launch_line_names_nodes_processes_and_meeting_point(
    library: str, backend: str, nodes: list[int | None], start: Start
) -> None:
    example = recorded(Example(f"libraries/megatron/{library}.yaml"))
    outcome = await (await start(example)).end()
    told: dict[str, Any] = {pod: json.loads(log.splitlines()[-1]) for pod, log in outcome.logs.items()}
    for pod, node in zip((f"{example.name}-master-0", f"{example.name}-worker-0"), nodes, strict=True):
        program = told[pod].pop("command")
        assert told[pod] == {
            "nodes": [2, 2],
            "processes": 2,
            "backend": backend,
            "endpoint": f"{example.name}-master-0:23456",
            "node": node,
        }, outcome.text
        assert any(each.endswith(".py") for each in program)
