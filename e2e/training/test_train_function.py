"""A function as `create_job(train_func)` of v1's SDK sends it: a script that a shell writes and torchrun starts."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

pytestmark = pytest.mark.framework(name="pytorch")
SENT = """
program_path=$(mktemp -d)
read -r -d '' SCRIPT << EOM

def train():
    import torch.distributed as dist
    dist.init_process_group("gloo")
    print("rank", dist.get_rank(), "of", dist.get_world_size())

train()

EOM
printf "%s" "$SCRIPT" > "$program_path/ephemeral_script.py"
torchrun "$program_path/ephemeral_script.py"
"""


async def test_a_function_is_trained(start: Start) -> None:
    example = Example("pytorch/pytorchjob.yaml")
    example.give_up(120)
    example.job["spec"]["nprocPerNode"] = "1"
    for container in example.containers():
        container["command"], container["args"] = ["bash", "-c"], [SENT]
    outcome = await (await start(example)).end()
    assert outcome.condition["type"] == "Succeeded", outcome.text
    for rank, log in enumerate(outcome.logs[name] for name in sorted(outcome.logs)):
        assert f"rank {rank} of 3" in log
