"""Every example ends Succeeded where the machine denies namespaces: in host mode, without capabilities."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import EXAMPLES, LIBRARIES, Example
from e2e.training.test_training import FALLS, RANKS

from training_local.run.examples import DEMOS

NOT_THERE = {
    "libraries/deepspeed/launcher.yaml": "its `ssh` must lie at one path, and host mode shows no volume there",
    "libraries/horovod/elastic.yaml": "likewise",
    "libraries/horovod/mpijob.yaml": "likewise",
    "libraries/megatron/nemo.yaml": "needs GPUs",
    "libraries/megatron/pretrain-gpt.yaml": "needs GPUs",
    "mpi/mpijob-ssh.yaml": "each pod needs a network of its own: unit_tests/local/commands/test_hopeless.py",
    "plugin-deepspeed/deepspeedjob.yaml": "needs another package: e2e/process/test_plugin.py",
}
NOW = (DEMOS["pytorch"].file, DEMOS["mpi"].file)
"""Two ways to start ranks; the others weekly, because `test_training.py` and demos train with the same files."""
CHECKS_ITSELF = "tensorflow/parameter-server.yaml"
"""After a few steps it fails, since it has not learned enough."""
DEMO_OF = {demo.file: name for name, demo in DEMOS.items()}


def example(file: Path) -> object:
    """One example with the environment that it needs."""
    top, folder, *_ = file.parts
    environment = folder if top == "libraries" and folder in LIBRARIES else top
    rare = [] if str(file) in NOW else [pytest.mark.weekly]
    return pytest.param(str(file), marks=[pytest.mark.framework(name=environment), *rare], id=str(file))


FILES = [file.relative_to(EXAMPLES) for file in sorted(EXAMPLES.glob("**/*.yaml"))]


@pytest.mark.parametrize("file", [example(file) for file in FILES if str(file) not in NOT_THERE])
async def test_an_example_succeeds_without_namespaces(file: str, start_in_host_mode: Start) -> None:
    chosen, demo = Example(file), DEMO_OF.get(file)
    if not demo and file != CHECKS_ITSELF:  # that it learns is shown elsewhere
        chosen.set(STEPS="8")
    outcome = await (await start_in_host_mode(chosen)).end()
    assert outcome.condition["type"] == "Succeeded", outcome.text
    if demo:
        outcome.check_trained(RANKS[demo], FALLS.get(demo, 10.0), own_host_names=False)
