"""DeepSpeed's launcher, in the launcher of an MPIJob: what it makes of the operator's hostfile. It starts nothing."""

from __future__ import annotations

import json

import pytest
from e2e.training.conftest import Start
from e2e.training.examples import Example

READ = """\
import json
from deepspeed.launcher.runner import fetch_hostfile
print(json.dumps(fetch_hostfile("/etc/mpi/hostfile")))
"""


@pytest.mark.weekly
@pytest.mark.framework(name="deepspeed")
@pytest.mark.recorded(
    library="DeepSpeed's launcher", kind="MPIJob", shown="hostfile alone, by its own parser: workers and slots",
    packages=("deepspeed",),
)  # fmt: skip
async def test_deepspeeds_launcher_reads_the_hostfile(start: Start) -> None:
    example = Example("mpi/mpijob.yaml")
    example.job["spec"]["slotsPerWorker"] = 2
    for container in example.containers("Launcher"):
        container["command"] = ["python", "-c", READ]
    outcome = await (await start(example)).end()
    assert outcome.condition["type"] == "Succeeded", outcome.text
    [found] = [json.loads(line) for log in outcome.logs.values() for line in log.splitlines() if line.startswith("{")]
    assert found == {"mpi-linear-worker-0": 2, "mpi-linear-worker-1": 2}
