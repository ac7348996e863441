"""LoRA by peft: a few weights beside those of the model are trained, by the same program."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

RANKS = 2


@pytest.mark.weekly
@pytest.mark.framework(name="hugging-face")
@pytest.mark.recorded(
    library="hugging-face: LoRA by peft", kind="PyTorchJob", shown=f"{RANKS} ranks train adapters",
    packages=("peft", "transformers", "torch"),
)  # fmt: skip
async def test_adapters_are_trained(start: Start) -> None:
    example = Example("libraries/hugging-face/trainer.yaml")
    example.set(STEPS="20", LORA="1")
    outcome = await (await start(example)).end()
    outcome.check_trained(RANKS, fall=1.2)
    trained = [line for log in outcome.logs.values() for line in log.splitlines() if "trainable params: 11,776" in line]
    assert len(trained) == RANKS, outcome.text
