from __future__ import annotations

import pytest
from unit_tests.controllers.builders import UID, make_job

from training_controllers.model.names import job_labels, owner_reference, replica_labels, replica_name
from training_controllers.model.plan import Slot


def test_slashes_become_dashes() -> None:
    job = make_job("PyTorchJob", {}, name="1/2/3/4/5")
    assert replica_name(job, Slot("WORKER", 1)) == "1-2-3-4-5-worker-1"


@pytest.mark.shows("E-024")
def test_labels_of_a_replica() -> None:
    job = make_job("PyTorchJob", {"Master": 1})
    assert replica_labels(job, Slot("Master", 3)) == {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "sim",
        "training.kubeflow.org/replica-type": "master",
        "training.kubeflow.org/replica-index": "3",
    }
    assert job_labels(make_job("JAXJob", {}, name="a/b"))["training.kubeflow.org/job-name"] == "a-b"


@pytest.mark.shows("E-028")
def test_the_job_is_the_controller_and_blocks_its_deletion() -> None:
    assert owner_reference(make_job("JAXJob", {})) == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "name": "sim",
        "uid": UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }
