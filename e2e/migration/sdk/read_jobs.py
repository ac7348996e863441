"""What the SDK `kubeflow` says of TrainJobs: `python -m e2e.migration.sdk.read_jobs NAMESPACE NAME...`.

In the SDK's environment, with KUBECONFIG set; prints JSON. `e2e/migration/test_sdk.py` says what must come of it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import TrainerClient

Json = dict[str, Any]


def main(namespace: str, names: list[str]) -> None:
    """Ask for each job, and for all of them."""
    client = TrainerClient(KubernetesBackendConfig(namespace=namespace))
    result: Json = {}
    for name in names:
        try:
            result[name] = job_read(client.get_job(name))
        except Exception as error:  # the SDK raises bare ones
            result[name] = {"error": str(error.__cause__ or error)[:300]}
    try:
        listed: Any = sorted(each.name for each in client.list_jobs())
    except Exception as error:
        listed = f"{error}: {error.__cause__}"[:300]
    json.dump({"jobs": result, "listed": listed}, sys.stdout)


def job_read(job: Any) -> Json:
    """A job as the SDK shows it."""
    return {
        "nodes": job.num_nodes,
        "status": job.status,
        "runtime": job.runtime.name,
        "framework": job.runtime.trainer.framework,
        "steps": sorted(step.name for step in job.steps),
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
