"""From a cached job to one that can be decided on, or to the sentence that says why not."""

from __future__ import annotations

import json

from unit_tests.controllers.builders import framework_of, stored_job

from training_controllers.reconcile.loader import Loader
from training_operator.kube import decoders


def test_a_port_without_number_is_a_problem_of_the_job() -> None:
    """TF_CONFIG is measured before there are pods, and names the ports of all."""
    stored = stored_job("TFJob", {"Worker": 2})
    container = stored["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "tfjob-port"}]
    record = decoders.job(json.dumps(stored).encode())
    assert Loader(framework_of("TFJob")).load(record).problem == "container port 'tfjob-port' has no number"
