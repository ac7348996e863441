"""A job that is started again resumes from its checkpoint: small language models, libraries on top of PyTorch."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example
from e2e.training.runs import Outcome

RANKS = 2


def case(
    name: str, file: str, steps: tuple[int, int], *packages: str, marks: tuple[pytest.MarkDecorator, ...] = ()
) -> object:
    """An example that ends after the first number of steps, and after the second one when it is started again."""
    shown = f"{RANKS} ranks learn one model, and resume from the checkpoint"
    library = "hugging-face: transformers, accelerate" if name == "hugging-face" else name
    recorded = pytest.mark.recorded(library=library, kind=Example(file).job["kind"], shown=shown, packages=packages)
    framework = pytest.mark.framework(name=name)
    return pytest.param(file, steps, marks=[framework, *([recorded] if packages else []), *marks], id=name)


EACH = [
    case("pytorch", "pytorch/language-model.yaml", (30, 60)),
    case("jax", "jax/language-model.yaml", (30, 60), marks=(pytest.mark.weekly,)),  # two ranks take a minute of a core
    case(
        "lightning", "libraries/lightning/trainer.yaml", (20, 30), "pytorch-lightning", "torch",
        marks=(pytest.mark.weekly,),  # it takes long to import
    ),
    case(
        "deepspeed", "libraries/deepspeed/trainer.yaml", (20, 30), "deepspeed", "torch",
        marks=(pytest.mark.weekly,),  # it takes long to import
    ),
    case(
        "hugging-face", "libraries/hugging-face/trainer.yaml", (20, 30), "transformers", "accelerate", "torch",
        marks=(pytest.mark.weekly,),  # transformers take long to import
    ),
]  # fmt: skip


def begun(outcome: Outcome) -> list[int]:
    """The steps after which the ranks began."""
    return [report["begunAfterStep"] for report in outcome.reports]


@pytest.mark.parametrize(("file", "steps"), EACH)
async def test_a_job_that_is_started_again_goes_on(file: str, steps: tuple[int, int], start: Start) -> None:
    example = Example(file)
    example.set(STEPS=str(steps[0]))
    run = await start(example)
    first = await run.end()
    first.check_trained(RANKS, fall=1.3)
    again = await run.again(steps[1])
    again.check_trained(RANKS, fall=1.3)
    assert (begun(first), begun(again)) == ([0] * RANKS, [steps[0]] * RANKS)
    for before, after in zip(first.reports, again.reports, strict=True):
        assert after["firstLoss"] == before["firstLoss"], "the losses before the checkpoint are kept"
        assert after["weights"] != before["weights"], "nothing was trained"
