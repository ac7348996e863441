"""The libraries that people train with: they find their ranks by themselves, learn, and go on from a checkpoint."""

from __future__ import annotations

import pytest
from e2e.harness.client import eventually
from e2e.training.conftest import Start
from e2e.training.examples import Example
from e2e.training.runs import Outcome, Run

RANKS = 2
PACKAGES = {"hugging-face": ("transformers", "accelerate", "torch"), "lightning": ("pytorch-lightning", "torch")}
GOES_ON = "2 ranks learn one model, and go on from the checkpoint"
EACH = [
    pytest.param(
        name,
        marks=[
            pytest.mark.framework(name=name),
            pytest.mark.recorded(library=name, kind="PyTorchJob", shown=GOES_ON, packages=packages),
            *([pytest.mark.weekly] if name == "hugging-face" else []),  # transformers take long to import
        ],
        id=name,
    )
    for name, packages in PACKAGES.items()
]


def begun(outcome: Outcome) -> list[int]:
    """The steps after which the ranks began."""
    return [report["begunAfterStep"] for report in outcome.reports]


async def run_again(run: Run, steps: int) -> Outcome:
    """Start the same job anew, with its volume."""
    await run.api.delete(f"{run.path}/{run.example.name}")

    async def gone() -> bool:
        return not await run.pods()

    await eventually(gone, "end of the first job's pods", 60)
    run.example.override(STEPS=str(steps))
    await run.api.create(run.path, run.example.job)
    return await run.end()


@pytest.mark.parametrize("library", EACH)
async def test_a_job_that_is_started_again_goes_on(library: str, start: Start) -> None:
    example = Example(f"libraries/{library}/trainer.yaml")
    example.set(STEPS="20")
    run = await start(example)
    first = await run.end()
    first.check_trained(RANKS, fall=1.3)
    again = await run_again(run, 30)
    again.check_trained(RANKS, fall=1.3)
    assert (begun(first), begun(again)) == ([0] * RANKS, [20] * RANKS)
    assert again.reports[0]["firstLoss"] == first.reports[0]["firstLoss"], "the losses before the checkpoint are kept"
    assert again.reports[0]["weights"] != first.reports[0]["weights"], "nothing was trained"


@pytest.mark.weekly
@pytest.mark.framework(name="hugging-face")
@pytest.mark.recorded(
    library="LoRA by peft", kind="PyTorchJob", shown="2 ranks train adapters", packages=("peft", "transformers")
)
async def test_adapters_are_trained(start: Start) -> None:
    example = Example("libraries/hugging-face/trainer.yaml")
    example.set(STEPS="40", LORA="1")
    outcome = await (await start(example)).end()
    outcome.check_trained(RANKS, fall=1.2)
    trained = [line for log in outcome.logs.values() for line in log.splitlines() if "trainable params: 11,776" in line]
    assert len(trained) == RANKS, outcome.text
