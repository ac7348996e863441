"""What is kept of the real controllers is what they build now."""

from __future__ import annotations

import json

from e2e.harness.cluster import Cluster
from e2e.migration.record import changed, recorded
from e2e.support import marks

from training_migration.targets import Target
from training_migration.v2.stock import stock

pytestmark = marks.bare  # Trainer v2 is installed into a cluster of its own


async def test_records_are_what_the_controllers_build(trainer: Cluster) -> None:
    assert changed(await recorded(trainer.kubeconfig)) == [], "run `python -m e2e.migration.record`"


def test_stock_runtimes_are_those_of_the_release(trainer: Cluster) -> None:
    there = json.loads(trainer.run_kubectl("get", "clustertrainingruntimes", "--output=json"))["items"]
    specs = {each["metadata"]["name"]: each["spec"] for each in there}
    ours = {name: runtime["spec"] for name, runtime in stock(Target.V2_3).items()}
    # Through the API server, for the same defaults.
    for name, spec in ours.items():
        runtime = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": f"ours-{name}"},
            "spec": spec,
        }
        stored = trainer.run_kubectl(
            "create", "--dry-run=server", "--output=json", "-f", "-", stdin=json.dumps(runtime)
        )
        assert json.loads(stored)["spec"] == specs[name]
    assert {name for name in specs if not name.startswith("torchtune-")} == set(ours)
