"""What `migrate code` makes of calls of v1's SDK, held against the SDK of Trainer v2."""

from __future__ import annotations

import subprocess

from e2e.harness.environment import environment
from e2e.migration.test_sdk import CONSTRAINTS
from e2e.support import marks
from e2e.support.paths import ROOT

from training_migration.code.rewrite import rewrite

pytestmark = marks.bare  # it needs no API server, but the environment that tests of this provider share

CODE = """from kubeflow.training import TrainingClient, constants

client = TrainingClient(config_file="a", context="b", client_configuration=None, namespace="c", job_kind="PyTorchJob")
client.create_job(name="a", labels={}, annotations={}, train_func=f, parameters={}, base_image="i", num_workers=2,
                  packages_to_install=[], resources_per_worker={}, env_vars={})
client.wait_for_job_conditions("a", expected_conditions={"Succeeded"}, wait_timeout=1, polling_interval=1, callback=f)
client.is_job_succeeded("a")
client.get_job("a")
client.list_jobs()
client.delete_job("a")
"""
TAKEN = [
    *("TrainerClient", "KubernetesBackendConfig"),
    *("TrainerClient.train", "CustomTrainer", "Name", "Labels", "Annotations"),
    *("TrainerClient.wait_for_job_status", "TrainerClient.get_job", "TrainerClient.get_job"),
    *("TrainerClient.list_jobs", "TrainerClient.delete_job"),
]


def test_every_rewritten_call_is_one_that_the_sdk_takes() -> None:
    done = rewrite(CODE)
    python = environment("trainer-sdk", CONSTRAINTS) / "python"
    command = [str(python), "-m", "e2e.migration.sdk.take_calls"]
    taken = subprocess.run(
        command, cwd=ROOT, input=done.code, capture_output=True, text=True, check=False, timeout=60.0
    )
    assert taken.returncode == 0, taken.stderr[-2000:] + done.code
    assert sorted(taken.stdout.split()) == sorted(TAKEN)
