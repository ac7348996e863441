"""One job on v1 and, converted, on v2, by real controllers and a real kubelet: equal ranks, losses, checkpoints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e.harness.cluster import Cluster
from e2e.harness.operator import PROGRAM
from e2e.migration.controllers import running_trainer
from e2e.node.place import Place
from e2e.node.training import LATE, job, tools
from e2e.node.worker import load

from training_api.yaml_text import dump
from training_migration.exits import Exit

FRAMEWORKS = ("pytorch", "jax", "mpi")
LOSS = r"(?:step|round) (?P<step>\d+)/\d+ loss (?P<loss>[0-9.e+-]+)"
LIMIT = 300
"""Seconds for each side."""
MAY_DIFFER = {"mpi": {"restarts"}}
"""v1 starts a launcher before its workers can be entered: it fails, and is started again."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What `migrate run` has seen, and what the ranks have left."""

    status: int
    said: str
    comparison: dict[str, Any]
    left: dict[str, tuple[int, float]]
    """Rank and time at which it was done, by host name."""

    def row(self, aspect: str) -> tuple[str, str, str]:
        """Verdict and values of one row of the comparison."""
        [found] = [each for each in self.comparison["rows"] if each["aspect"] == aspect]
        return found["verdict"], found["v1"], found["v2"]


@pytest.fixture(scope="module")
def runs(cluster: Cluster, node_operator: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ended]]:
    """All jobs, each first on v1 and then on v2, beside each other."""
    folder = tmp_path_factory.mktemp("both")
    place = cluster.kubeconfig.parent
    load(tools(), place)
    with running_trainer(cluster, tmp_path_factory.mktemp("trainer"), Place(int(place.name)).host_address):
        yield asyncio.run(_run_all(cluster, folder))


async def _run_all(cluster: Cluster, folder: Path) -> dict[str, Ended]:
    found = await asyncio.gather(*(_run(cluster, folder, each) for each in FRAMEWORKS))
    return dict(zip(FRAMEWORKS, found, strict=True))


async def _run(cluster: Cluster, folder: Path, framework: str) -> Ended:
    file = folder / f"{framework}.yaml"
    objects = job(framework)
    file.write_text(dump(objects))
    for side in ("v1", "v2"):
        cluster.run_kubectl("create", "namespace", f"{framework}-{side}")
    command: list[str | Path] = [
        PROGRAM,
        "migrate",
        "run",
        file,
        "--target=2.3",
        "--where=cluster",
        "--witness",
        f"--timeout={LIMIT}",
    ]
    where = [f"--kubeconfig={cluster.kubeconfig}", f"--namespace-v1={framework}-v1", f"--namespace-v2={framework}-v2"]
    judged = [f"--metric={LOSS}", "--tolerance=0", "--format=json", f"--records={folder / framework}"]
    process = await asyncio.create_subprocess_exec(
        *command, *where, *judged, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, said = await process.communicate()
    assert process.returncode is not None
    comparison = json.loads(out) if out else {}
    return Ended(process.returncode, said.decode(), comparison, _left(cluster, objects[-1]["metadata"]["name"]))


def _left(cluster: Cluster, name: str) -> dict[str, tuple[int, float]]:
    """What the ranks of a job of this name have written, on both sides."""
    pid = (cluster.kubeconfig.parent / "pid").read_text()
    files = Path(f"/proc/{pid}/root/mnt").glob(f"{name}-*")
    read = {file.name: file.read_text().split() for file in files}
    return {host: (int(rank), float(when)) for host, (rank, when) in read.items()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_ranks_and_losses_are_equal(runs: dict[str, Ended], framework: str) -> None:
    ended = runs[framework]
    different = {each["aspect"] for each in ended.comparison["rows"] if each["verdict"] == "different"}
    assert different <= MAY_DIFFER.get(framework, set()), f"{ended.said}\n{json.dumps(ended.comparison, indent=1)}"
    assert ended.status == (Exit.DIFFERENT if different else Exit.DONE), ended.said
    assert ended.row("end state")[0] == "equal"
    ranks = "ranks 0, 1 of 2" if framework == "mpi" else "ranks 0 to 2 of 3"
    assert ended.row("ranks") == ("equal", ranks, ranks)
    assert ended.row("metric loss")[0] == "equal"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_late_checkpoint_of_rank_0_is_written_on_both_sides(runs: dict[str, Ended], framework: str) -> None:
    left = runs[framework].left
    late = {host: when for host, (rank, when) in left.items() if rank == 0}
    v2 = {host for host in left if "-node-" in host}
    assert len(left) == 2 * len(v2) == (4 if framework == "mpi" else 6), left
    assert len(late) == 2 and len(v2 & late.keys()) == 1, left
    for host, when in late.items():
        others = [at for other, (rank, at) in left.items() if rank and (other in v2) == (host in v2)]
        assert when > max(others) + LATE - 1, left
