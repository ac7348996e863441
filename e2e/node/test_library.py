"""Libraries that people train with, on a real node: they find their ranks and learn, and workers come and go."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.harness.client import Api
from e2e.harness.cluster import Cluster
from e2e.node.training import Framework, prepare, tools
from e2e.node.worker import load
from e2e.training.elastic_horovod import workers_come_and_go
from e2e.training.examples import Example
from e2e.training.recording import note
from e2e.training.runs import Run

pytestmark = pytest.mark.usefixtures("node_operator")
RANKS = 2
LEARN = f"{RANKS} ranks learn one model"
ELASTIC_STEPS = 2400
"""Enough for a kubelet to show the launcher, again and again, which workers there are."""
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Begin = Callable[[Example, str], Run]
"""Makes a run of an example with the Python of a library."""


@pytest.fixture
def pythons(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The Python that has a library."""

    def found(library: str) -> Path:
        python = Path(request.config.getoption("--environments") or "", library, "bin", "python").absolute()
        if not python.exists():
            pytest.skip(f"{library} is not here: `make e2e-node` names the folder of `make train`")
        return python

    return found


@pytest.fixture
def begin(cluster: Cluster, api: Api, pythons: Callable[[str], Path]) -> Begin:
    """Examples as they run on the node: with what is installed on the machine."""
    load(tools(), cluster.kubeconfig.parent)

    def begun(example: Example, library: str) -> Run:
        python = pythons(library)
        programs = f"{python.parent}:{PATH}"
        framework = Framework(str(python), (str(python.parents[1]),), {"PATH": programs})
        for replica in example.replicas.values():
            prepare(replica["template"]["spec"], framework)
        example.others = [each for each in example.others if each["kind"] == "ConfigMap"]
        return Run(cluster.kubeconfig, api, example)

    return begun


@pytest.fixture
def record(request: pytest.FixtureRequest, pythons: Callable[[str], Path]) -> Callable[..., None]:
    """Keep that the test has passed, where that is asked for."""

    def recorded(environment: str, library: str, kind: str, *packages: str, shown: str = LEARN) -> None:
        if request.config.getoption("--record"):
            note(
                request.node.nodeid, pythons(environment), library=library, kind=kind, shown=shown, packages=packages,
                where="real node",
            )  # fmt: skip

    return recorded


async def test_lightning_trains(begin: Begin, record: Callable[..., None]) -> None:
    example = Example("libraries/lightning/trainer.yaml")
    example.set(STEPS="20")
    run = begin(example, "lightning")
    await run.start()
    (await run.end()).check_trained(RANKS, fall=1.3)
    record("lightning", "lightning", "PyTorchJob", "pytorch-lightning", "torch")


async def test_deepspeeds_launcher_trains(begin: Begin, record: Callable[..., None]) -> None:
    if shutil.which("pdsh") is None:
        pytest.skip("pdsh is not here: on Debian it is a package of that name")
    run = begin(Example("libraries/deepspeed/launcher.yaml"), "deepspeed")
    await run.start()
    (await run.end()).check_trained(RANKS)
    record("deepspeed", "DeepSpeed, by its launcher with pdsh", "MPIJob", "deepspeed", "torch")


async def test_workers_of_elastic_horovod_come_and_go(begin: Begin, record: Callable[..., None]) -> None:
    example = Example("libraries/horovod/elastic.yaml")
    example.set(STEPS=str(ELASTIC_STEPS))
    run = begin(example, "horovod")
    await run.start()
    await workers_come_and_go(run, ELASTIC_STEPS)
    shown = "a third worker is added, one is deleted and comes back, one is taken away: training continues"
    record("horovod", "elastic Horovod, by discover_hosts.sh", "MPIJob", "horovod", "torch", shown=shown)
