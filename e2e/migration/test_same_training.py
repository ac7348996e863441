"""PyTorch on both sides: a converted job trains the same, and one moved by hand is found out, though it succeeds."""

from __future__ import annotations

import pytest
from e2e.migration.same_training import CASES, environment
from e2e.migration.trained import play, read
from e2e.support import marks
from e2e.support.skips import without_pytorch

from training_local.errors import BadInput
from training_local.run.examples import DEMOS, python_for
from training_migration.compare import Outcome, trains_alone
from training_migration.runs.record import EndState

pytestmark = marks.local  # local clusters of its own


@pytest.fixture
def torch() -> None:
    """Skips where no Python has PyTorch."""
    try:
        python_for(DEMOS["pytorch"], environment("pytorch"))
    except BadInput as error:
        without_pytorch(str(error))


@pytest.mark.usefixtures("torch")
async def test_a_converted_job_trains_the_same() -> None:
    comparison = await play(CASES["pytorch"], environment("pytorch"), print)
    assert comparison.outcome is Outcome.EQUAL, comparison.headline
    [ranks] = [row for row in comparison.rows if row.aspect == "ranks"]
    assert ranks.v1 == ranks.v2 == "ranks 0 to 2 of 3"
    assert comparison.v1.metrics
    assert [each.points for each in comparison.v1.metrics] == [each.points for each in comparison.v2.metrics or ()]


@pytest.mark.weekly  # test_run_commands.py finds one out that has no framework
@pytest.mark.usefixtures("torch")
async def test_a_job_moved_by_hand_succeeds_and_is_found_out_all_the_same() -> None:
    comparison = await play(CASES["pytorch-naive-guarded"], environment("pytorch"), print)
    assert comparison.v2.end is EndState.SUCCEEDED, comparison.v2.reasons
    assert trains_alone(comparison.v2)
    assert not trains_alone(comparison.v1)
    assert "on v2 every node trains alone" in comparison.headline


def test_the_guard_is_put_into_the_script() -> None:
    _, [config_map] = read(CASES["pytorch-naive-guarded"])
    compile(config_map["data"]["train.py"], "train.py", "exec")
    assert 'if "WORLD_SIZE" not in os.environ' in config_map["data"]["train.py"]
