"""`migrate run` and `migrate probe` as users call them, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from e2e.harness.operator import PROGRAM
from e2e.support import marks
from e2e.training.examples import EXAMPLES

from training_migration.exits import Exit
from training_migration.runs.record import Side, read_record

pytestmark = marks.local  # local clusters of its own

# A framework of a few lines, under a name that the witness knows: who has no rank takes itself for the only one, and
# None begins before all have met.
SCRIPT = """
import os, pathlib, sys
home = pathlib.Path(os.environ["TMPDIR"], "site", "xgboost")
home.mkdir(parents=True)
(home / "__init__.py").touch()
(home / "collective.py").write_text('''
import os, socket, time
def get_rank(): return int(os.environ.get("RANK", 0))
def get_world_size(): return int(os.environ.get("WORLD_SIZE", 1))
def init():
    if get_world_size() == 1:
        return
    port = int(os.environ["MASTER_PORT"])
    if get_rank() == 0:
        with socket.create_server(("", port)) as server:
            for peer in range(1, get_world_size()):
                server.accept()[0].close()
        return
    for attempt in range(600):
        try:
            return socket.create_connection((os.environ["MASTER_ADDR"], port), 5).close()
        except OSError:
            time.sleep(0.1)
    raise SystemExit("no process at the master's address")
''')
sys.path.insert(0, str(home.parent))
from xgboost import collective
collective.init()
print("step 1 loss 0.5", flush=True)
"""
REPLICA = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "any"}]}}}
METRIC = r"--metric=step (?P<step>\d+) loss (?P<loss>[0-9.]+)"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the clusters of this test apart from the user's."""
    monkeypatch.setenv("TRAINING_OPERATOR_STATE", str(tmp_path / "state"))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A PyTorchJob with a master and a worker."""
    template = json.loads(json.dumps(REPLICA))
    template["template"]["spec"]["containers"][0]["command"] = ["python", "-c", SCRIPT]
    spec = {"pytorchReplicaSpecs": {"Master": template, "Worker": template}}
    obj = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "small"}, "spec": spec}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(obj))
    return tmp_path / "job.yaml"


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """The same, moved by hand: its command on a runtime that v2 ships."""
    spec = {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "command": ["python", "-c", SCRIPT]},
    }
    obj = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "small"},
        "spec": spec,
    }
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2" / "job.yaml").write_text(yaml.safe_dump(obj))
    return tmp_path / "v2"


def migrate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [PROGRAM, "migrate", *arguments, "--target=2.3"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def test_a_converted_job_is_run_on_both_sides_and_found_equal(job: Path, tmp_path: Path) -> None:
    ran = migrate("run", job, METRIC, "--tolerance=0.001", f"--records={tmp_path / 'runs'}")
    assert ran.returncode == Exit.DONE, ran.stdout + ran.stderr
    assert "The same training happened on both sides." in ran.stdout
    first, second = (read_record(tmp_path / "runs" / f"{side}.json") for side in Side)
    assert {(p.rank, p.world_size) for p in first.processes or ()} == {(0, 2), (1, 2)}
    assert [p.environment.get("MASTER_PORT") for p in (*first.pods, *second.pods)] == ["23456"] * 2 + ["29500"] * 2
    assert [each.points for each in second.metrics or ()] == [((1, 0.5),)] * 2


def test_a_job_moved_by_hand_is_found_out(job: Path, by_hand: Path) -> None:
    ran = migrate("run", job, by_hand)
    assert ran.returncode == Exit.DIFFERENT, ran.stdout + ran.stderr
    assert "on v2 every node trains alone" in ran.stdout
    probed = migrate("probe", job, by_hand)
    assert probed.returncode == Exit.DIFFERENT, probed.stdout + probed.stderr
    assert "not set: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT" in probed.stdout


def test_a_probe_of_an_example_meets_on_both_sides() -> None:
    probed = migrate("probe", EXAMPLES / "jax" / "jaxjob.yaml")
    assert probed.returncode == Exit.DONE, probed.stdout + probed.stderr
    seen = [line.split() for line in probed.stdout.splitlines() if line.startswith("v")]
    assert [(row[0], row[1], row[3], row[-1]) for row in seen] == [
        *(("v1", "worker", str(rank), "met") for rank in range(3)),
        *(("v2", "node", str(rank), "met") for rank in range(3)),
    ]


@pytest.mark.weekly  # unit_tests/migration judges such records
def test_without_a_witness_there_is_not_enough_evidence(job: Path) -> None:
    ran = migrate("run", job, "--no-witness")
    assert ran.returncode == Exit.INCONCLUSIVE, ran.stdout + ran.stderr
    assert "there was no witness" in ran.stdout


def test_what_cannot_be_run_is_reported_in_a_sentence(job: Path, by_hand: Path, tmp_path: Path) -> None:
    nowhere = migrate("run", job, "--where=cluster")
    assert (nowhere.returncode, nowhere.stdout) == (Exit.USAGE, "")
    assert "--namespace-v1 is missing" in nowhere.stderr
    bad = migrate("run", job, "--metric=loss")
    assert bad.returncode == Exit.USAGE
    assert "has no group for the value" in bad.stderr
    (by_hand / "job.yaml").write_text((by_hand / "job.yaml").read_text().replace("name: small", f"name: {'a' * 70}"))
    rejected = migrate("run", by_hand)
    assert rejected.returncode == Exit.REJECTED
    assert "metadata.name" in rejected.stderr
    (tmp_path / "empty.yaml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
    assert "neither a training job of v1 nor a TrainJob" in migrate("run", tmp_path / "empty.yaml").stderr
