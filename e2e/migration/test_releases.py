"""What jobs are converted to for a release of Trainer v2 is admitted by its CRDs, on a real API server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from e2e.harness.binaries import TRAINER, of_minor
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.migration.jobs import examples, golden
from e2e.support import marks
from e2e.support.profiles import often

from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.targets import Target

pytestmark = marks.bare
STRICT = ("--dry-run=server", "--validate=strict")
RELEASES = {
    Target.V2_0: "v2.0.0",
    Target.V2_1: "v2.1.0",
    Target.V2_2: of_minor(TRAINER, Target.V2_2).version,
    Target.V2_3: TRAINER.version,
}


def crds(version: str) -> Path:
    """The CRDs of a release, from its Go module."""
    download = ["go", "mod", "download", "-json", f"{TRAINER.main}@{version}"]
    said = subprocess.run(download, cwd=TRAINER.folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Path(json.loads(said)["Dir"]) / "manifests" / "base" / "crds"


@pytest.mark.parametrize("target", often(RELEASES, Target.V2_0, Target.V2_3))
def test_a_release_admits_what_is_converted_for_it(cluster: Cluster, target: Target) -> None:
    for file in crds(RELEASES[target]).glob("trainer.kubeflow.org_*.yaml"):
        cluster.run_kubectl("apply", "--server-side", "--force-conflicts", f"--filename={file}")
    cluster.wait_established("crd", "trainjobs.trainer.kubeflow.org", "trainingruntimes.trainer.kubeflow.org")
    conversions = [convert(job, Options(target)) for job in (*examples(), *golden())]
    objects = [each for conversion in conversions if not conversion.rejected for each in conversion.objects]
    own = [each for each in objects if each["apiVersion"].startswith("trainer.kubeflow.org/")]
    assert len(own) > 20
    for each in own:
        each["metadata"]["namespace"] = "default"
    result = cluster.send("apply", *own, options=STRICT)
    assert len(result.splitlines()) == len(own)

    unknown = {"runtimeRef": {"name": "any"}, "trainer": {"ports": []}}
    with pytest.raises(HarnessError, match=r'unknown field "(spec\.trainer\.)?ports"'):
        cluster.send("apply", {**own[0], "kind": "TrainJob", "spec": unknown}, options=STRICT)
