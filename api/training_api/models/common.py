"""What the jobs of all six kinds have in common: replica specs, run policy, status."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

PodTemplate = dict[str, Any]
"""A pod template as stored; the operator reads a few paths of it and keeps everything else untouched."""

Quantity = int | str


class ApiModel(BaseModel):
    """A part of an API object: camelCase on the wire, immutable, unknown fields ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class RestartPolicy(StrEnum):
    """What happens to a replica whose pod has failed."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class CleanPodPolicy(StrEnum):
    """Which pods are deleted when their job has finished."""

    ALL = "All"
    RUNNING = "Running"
    NONE = "None"


class ConditionType(StrEnum):
    """The states in the life of a job."""

    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    SUSPENDED = "Suspended"
    FAILED = "Failed"


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ReplicaSpec(ApiModel):
    """The replicas of one type: how many, made from which template, restarted when."""

    replicas: int | None = None
    template: PodTemplate = Field(default_factory=dict)
    restart_policy: RestartPolicy | None = None


class SchedulingPolicy(ApiModel):
    """What a gang scheduler is told about the job."""

    min_available: int | None = None
    queue: str | None = None
    min_resources: dict[str, Quantity] | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: int | None = None


class RunPolicy(ApiModel):
    """How long a job may run, how often it may restart, what remains of it."""

    clean_pod_policy: CleanPodPolicy | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool = False
    managed_by: str | None = None


class JobCondition(ApiModel):
    """One state of a job; the order of a job's conditions is part of the API, the newest is the last."""

    type: ConditionType
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None


class ReplicaStatus(ApiModel):
    """The replicas of one type, counted by state. Counters that are 0 are absent on the wire."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    selector: str | None = None
    restarts: int = 0
    ready: int = 0
    completed_indexes: str = ""


class JobStatus(ApiModel):
    """What has become of a job so far."""

    conditions: tuple[JobCondition, ...] = ()
    replica_statuses: dict[str, ReplicaStatus] = Field(default_factory=dict)
    start_time: datetime | None = None
    completion_time: datetime | None = None
    last_reconcile_time: datetime | None = None
    observed_generation: int | None = None


class JobSpec(ApiModel):
    """The part of a job's spec that every kind has; each kind adds its replica map and settings."""

    run_policy: Annotated[RunPolicy, BeforeValidator(lambda v: {} if v is None else v)] = Field(
        default_factory=RunPolicy
    )


class JobMetadata(ApiModel):
    """The metadata of a job that decisions depend on."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
