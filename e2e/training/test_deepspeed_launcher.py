"""DeepSpeed's own launcher, in the launcher of an MPIJob: it reads the operator's hostfile and starts ranks."""

from __future__ import annotations

import shutil

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

RANKS = 2
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def case(launcher: str, program: str) -> object:
    """DeepSpeed by one of the ways in which it enters hosts, and the program that this takes."""
    shown = f"{RANKS} ranks learn one model"
    library = f"DeepSpeed, by its launcher with {launcher}"
    recorded = pytest.mark.recorded(library=library, kind="MPIJob", shown=shown, packages=("deepspeed", "torch"))
    return pytest.param(launcher, program, marks=recorded, id=launcher)


@pytest.mark.weekly
@pytest.mark.framework(name="deepspeed")
@pytest.mark.parametrize(("launcher", "program"), [case("pdsh", "pdsh"), case("openmpi", "ompi_info")])
async def test_the_ranks_of_deepspeeds_launcher_learn_one_model(launcher: str, program: str, start: Start) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here: on Debian it is in the packages pdsh and libopenmpi-dev")
    example = Example("libraries/deepspeed/launcher.yaml")
    example.set(LAUNCHER=launcher, **AS_ROOT)
    outcome = await (await start(example)).end()
    outcome.check_trained(RANKS)
    assert [report["host"] for report in outcome.reports] == [
        f"deepspeed-launcher-worker-{rank}" for rank in range(RANKS)
    ]
