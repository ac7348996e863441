"""What v1's SDK (`kubeflow-training`) has, and what does the same in the SDK of Trainer v2 (`kubeflow`, 0.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

CLIENT: Final = "TrainingClient"
CLIENTS: Final = (CLIENT, "PyTorchJobClient", "TFJobClient", "XGBoostJobClient", "MPIJobClient")
"""The older ones are each for one kind."""

EQUIVALENTS: Final[Mapping[str, str]] = {
    "create_job": "`TrainerClient().train(trainer=CustomTrainer(func=..., num_nodes=...))` for a function; of an "
    "object `migrate convert` makes a TrainJob, which is created as any object is",
    "train": "`TrainerClient().train(trainer=BuiltinTrainer(config=TorchTuneConfig(...)), initializer=...)`",
    "get_job": "`TrainerClient().get_job(name)`, which returns a TrainJob with `status`, `steps` and `num_nodes`",
    "list_jobs": "`TrainerClient().list_jobs()`",
    "delete_job": "`TrainerClient().delete_job(name)`",
    "update_job": "nothing: a TrainJob is deleted and created again",
    "wait_for_job_conditions": '`TrainerClient().wait_for_job_status(name, status={"Complete"})`',
    "get_job_conditions": "`TrainerClient().get_job(name).status`: Created, Running, Complete or Failed",
    "is_job_created": "`TrainerClient().get_job(name)`, which raises RuntimeError if there is none",
    "is_job_running": '`TrainerClient().get_job(name).status == "Running"`',
    "is_job_restarting": "nothing: a TrainJob that restarts is Running",
    "is_job_succeeded": '`TrainerClient().get_job(name).status == "Complete"`',
    "is_job_failed": '`TrainerClient().get_job(name).status == "Failed"`',
    "get_job_pods": "`TrainerClient().get_job(name).steps`, or pods with the label `jobset.sigs.k8s.io/jobset-name`",
    "get_job_pod_names": "`[step.pod_name for step in TrainerClient().get_job(name).steps]`",
    "get_job_logs": '`TrainerClient().get_job_logs(name, step="node-0")`, which gives the lines of one node',
}
"""Methods of the client, each with what to do instead."""
_OF_ONE_KIND: Final = re.compile(
    r"(create|get|list|delete|patch|update)_(?:pytorchjob|tfjob|xgboostjob|mpijob|paddlejob)(s?)"
)
DISTINCT: Final = frozenset({"wait_for_job_conditions", "get_job_conditions", "get_job_pod_names"}) | frozenset(
    name for name in EQUIVALENTS if name.startswith("is_job_")
)
"""Methods that no other client is known to have."""
PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    CLIENT: ("config_file", "context", "client_configuration", "namespace", "job_kind"),
    "get_job": ("name", "namespace", "job_kind", "timeout"),
    "list_jobs": ("namespace", "job_kind", "timeout"),
    "delete_job": ("name", "namespace", "job_kind", "delete_options"),
    "wait_for_job_conditions": (
        *("name", "namespace", "job_kind", "expected_conditions", "wait_timeout", "polling_interval", "callback"),
        "timeout",
    ),
    **dict.fromkeys(
        ("is_job_running", "is_job_succeeded", "is_job_failed"), ("name", "namespace", "job_kind", "job", "timeout")
    ),
    "get_job_logs": (
        *(
            "name",
            "namespace",
            "job_kind",
            "is_master",
            "replica_type",
            "replica_index",
            "follow",
            "timeout",
            "verbose",
        ),
    ),
    "create_job": ("job", "name", "namespace"),
}
"""Parameters in the order of v1's signature, as far as a call may give them by position."""
STATUSES: Final[Mapping[str, str]] = {
    "Succeeded": "Complete",
    "Failed": "Failed",
    "Running": "Running",
    "Created": "Created",
}
"""Conditions of v1 and the statuses in the SDK of v2."""
MODEL: Final = re.compile(
    r"KubeflowOrgV1(\w+)|V1(?:PyTorchJob|TFJob|XGBoostJob|MPIJob|PaddleJob|ReplicaSpec|RunPolicy)\w*"
)


def method_of(name: str) -> str:
    """The method of today's client that does what this one did; empty for one that v1's clients never had."""
    if name in EQUIVALENTS:
        return name
    found = _OF_ONE_KIND.fullmatch(name)
    if found is None:
        return ""
    verb = "update" if found[1] == "patch" else "list" if found[2] else found[1]
    return f"{verb}_jobs" if verb == "list" else f"{verb}_job"


def is_distinct(name: str) -> bool:
    """Whether a method of this name can only be one of v1's clients."""
    return name in DISTINCT or _OF_ONE_KIND.fullmatch(name) is not None
