"""A library that people train with, on a real node: PyTorch Lightning finds its ranks and learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.node.training import Framework, prepare, tools
from e2e.node.worker import load
from e2e.training.examples import Example
from e2e.training.recording import note
from e2e.training.runs import Outcome

RANKS = 2
NAME = "lightning"


@pytest.fixture
def python(request: pytest.FixtureRequest) -> Path:
    """The Python that has the library."""
    found = Path(request.config.getoption("--environments") or "", NAME, "bin", "python").absolute()
    if not found.exists():
        pytest.skip(f"{NAME} is not here: `make e2e-node` names the folder of `make train`")
    return found


@pytest.fixture
def record(request: pytest.FixtureRequest, python: Path) -> Callable[[], None]:
    """Keep that the test has passed, where that is asked for."""

    def recorded() -> None:
        if request.config.getoption("--record"):
            shown, packages = f"{RANKS} ranks learn one model", ("pytorch-lightning", "torch")
            test = request.node.nodeid
            note(test, python, library=NAME, kind="PyTorchJob", shown=shown, packages=packages, where="real node")

    return recorded


@pytest.mark.usefixtures("node_operator")
async def test_lightning_trains_on_a_node(
    cluster: Cluster, api: Api, namespace: str, python: Path, record: Callable[[], None]
) -> None:
    load(tools(), cluster.kubeconfig.parent)
    example = Example(f"libraries/{NAME}/trainer.yaml")
    example.set(STEPS="20")
    for replica in example.replicas.values():
        prepare(replica["template"]["spec"], Framework(str(python), (str(python.parents[1]),)))
    [program] = [each for each in example.others if each["kind"] == "ConfigMap"]
    await api.create(f"/api/v1/namespaces/{namespace}/configmaps", program)
    jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs"
    await api.create(jobs, example.job)

    async def ended() -> Object | None:
        status = (await api.call("GET", f"{jobs}/{example.name}")).get("status", {})
        over = [each for each in status.get("conditions", ()) if each["type"] in ("Succeeded", "Failed")]
        return next((each for each in over if each["status"] == "True"), None)

    condition = await eventually(ended, "the end of the job", 180)
    pods = cluster.run_kubectl("get", "pods", f"--namespace={namespace}", "--output=name").split()
    logs = {pod: cluster.run_kubectl("logs", pod, f"--namespace={namespace}") for pod in pods}
    Outcome(condition, {}, logs).check_trained(RANKS, fall=1.3)
    record()
