"""What the jobs of all six kinds have in common: replica specs, run policy, status.

The docstrings of fields are also their descriptions in the CRDs, so that `kubectl explain` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from training_api.constants import MANAGERS, MAX_REPLICAS
from training_api.printable import Legible

PodTemplate = Annotated[dict[str, Any], Field(json_schema_extra={"upstream": "PodTemplateSpec"})]
"""A pod template as stored; the operator reads a few paths of it and keeps everything else untouched."""

Quantity = Annotated[int | str, Field(json_schema_extra={"format": "quantity"})]
Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
ReplicaCount = Annotated[int, Field(json_schema_extra={"format": "int32", "maximum": MAX_REPLICAS})]
"""How many replicas of one type; the only fields with a maximum, which whoever runs the operator may set otherwise."""
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]


def whole_seconds(time: datetime) -> datetime:
    """The time as the API stores it: in UTC, without a fraction of a second. Raises ValueError out of range."""
    try:
        return time.astimezone(UTC).replace(microsecond=0)
    except OverflowError as error:
        raise ValueError("is out of range") from error


def rfc3339(time: datetime) -> str:
    """The time as it stands in an object, for example `2026-01-31T08:00:00Z`."""
    return whole_seconds(time).isoformat().replace("+00:00", "Z")


Time = Annotated[AwareDatetime, AfterValidator(whole_seconds), PlainSerializer(rfc3339, when_used="json")]


class ApiModel(BaseModel):
    """A part of an API object: camelCase on the wire, immutable, unknown fields ignored, null the same as absent."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        if isinstance(data, Mapping):
            return {key: value for key, value in data.items() if value is not None}
        return data


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


def _empty_is_absent(value: object) -> object:
    return None if value == "" else value


def _other_texts_mean_all(value: object) -> object:
    """What v1 makes of a stored text that is none of the three, the empty one included (K-15)."""
    return CleanPodPolicy.ALL if isinstance(value, str) and value not in tuple(CleanPodPolicy) else value


StoredRestartPolicy = Annotated[
    RestartPolicy | None,
    BeforeValidator(_empty_is_absent),
    Field(json_schema_extra={"enum": [*RestartPolicy, ""]}),
]
StoredCleanPodPolicy = Annotated[CleanPodPolicy | None, BeforeValidator(_other_texts_mean_all)]


class ReplicaSpec(ApiModel):
    """The replicas of one type: number, pod template, restart policy."""

    replicas: ReplicaCount | None = None
    """How many replicas of this type the job has. Absent means the default of the type, which is nearly always 1."""
    template: PodTemplate = Field(default_factory=dict)
    """The pod from which each replica is made. Its restart policy is replaced by `restartPolicy` of the replica."""
    restart_policy: StoredRestartPolicy = None
    """What to do about a replica that failed. Always and OnFailure start it again, Never lets it fail the job, and
    ExitCode starts it again if its exit code is 128 or above. Absent means the default of the kind."""


ReplicaSpecs = dict[str, ReplicaSpec]


class SchedulingPolicy(ApiModel):
    """Settings for a gang scheduler."""

    min_available: Int32 | None = None
    """Minimum number of pods that must be schedulable before any of them starts. Absent means all."""
    queue: str | None = None
    """Queue of the gang scheduler. Immutable."""
    min_resources: dict[str, Quantity] | None = None
    """Resources that must be free before any pod starts. Absent means those that minAvailable pods request."""
    priority_class: str | None = None
    """Priority class of the whole gang."""
    schedule_timeout_seconds: Int32 | None = None
    """Seconds after which the scheduler gives up on a gang that cannot be scheduled."""


class RunPolicy(ApiModel):
    """Limits of a job: how long it may run, how often it may restart, which pods are kept."""

    clean_pod_policy: StoredCleanPodPolicy = None
    """Which pods are deleted when the job has finished. Absent means None, except that a job which exceeded a limit
    of this policy does not keep pods that are still active."""
    ttl_seconds_after_finished: Int32 | None = None
    """Seconds after which a finished job is deleted. Absent means that it is kept."""
    active_deadline_seconds: Int64 | None = None
    """Seconds that the job may be active, counted again after each resume, before it fails."""
    backoff_limit: Int32 | None = None
    """Number of restarts at which the job fails. Absent means no limit."""
    scheduling_policy: SchedulingPolicy | None = None
    """Settings for a gang scheduler."""
    suspend: bool = False
    """True stops the job and deletes its pods; false starts or resumes it."""
    managed_by: Annotated[str | None, Field(json_schema_extra={"enum": [*MANAGERS]})] = None
    """The controller in charge of the job. Absent means this operator, which ignores jobs of other controllers.
    Immutable."""


class JobCondition(ApiModel):
    """One state of a job; the order of a job's conditions is part of the API, the newest true one is the last."""

    type: Legible
    """A `ConditionType`; the types of others are kept."""
    status: ConditionStatus
    """Whether the condition holds."""
    reason: Legible = ""
    """The reason for the last transition, in CamelCase, beginning with the kind of the job."""
    message: Legible = ""
    """Details for humans."""
    last_update_time: Time | None = None
    """When status, reason or message changed last."""
    last_transition_time: Time | None = None
    """When the status changed last."""


class ReplicaStatus(ApiModel):
    """The replicas of one type, counted by state. Counters that are 0 are absent on the wire."""

    active: Int32 = 0
    """Replicas that run."""
    succeeded: Int32 = 0
    """Replicas that have succeeded."""
    failed: Int32 = 0
    """Replicas that have failed and not been replaced yet."""
    selector: str | None = None
    """Label selector of the pods of this type, for the scale subresource."""
    restarts: Int32 = 0
    """Restarts so far: of containers in place, and of replicas by new pods. The backoff limit is compared with it."""
    ready: Int32 = 0
    """Replicas whose pods are ready."""
    completed_indexes: str = ""
    """Indexes of the replicas that have succeeded and are never run again, for example 0-3,7."""
    restarting_indexes: str = ""
    """Indexes of the replicas whose pods have failed, are counted as restarts already, and are about to be replaced."""


class Waiting(ApiModel):
    """Why a job makes no progress."""

    reason: Legible
    """The reason, in CamelCase: Unschedulable, ImagePull, Quota, NameTaken, CrashLoop ..."""
    message: Legible = ""
    """Details for humans; names the object that the job waits for."""
    since: Time | None = None
    """When the cause was first seen."""


class JobStatus(ApiModel):
    """The observed state of a job."""

    conditions: tuple[JobCondition, ...] = ()
    """The states that the job has reached; false ones come first, the newest true one is the last."""
    replica_statuses: dict[str, ReplicaStatus] = Field(default_factory=dict)
    """The replicas counted by state, by replica type."""
    start_time: Time | None = None
    """When the job started, or was last resumed."""
    completion_time: Time | None = None
    """When the job succeeded or failed."""
    last_reconcile_time: Time | None = None
    """When the operator last reconciled a job whose gang waits to be scheduled."""
    observed_generation: Int64 | None = None
    """The generation of the job that the operator has observed."""
    waiting: Waiting | None = None
    """Why the job makes no progress; absent while it does."""
    attempt: Int32 = 0
    """Number of the current attempt of a job that restarts as a whole; the first is 0."""


class JobSpec(ApiModel):
    """The part of a job's spec that every kind has.

    Each kind declares a subclass that gives `replica_specs` its name on the wire and adds the settings of the kind.
    """

    run_policy: RunPolicy = Field(default_factory=RunPolicy)
    """Limits of the job: how long it may run, how often it may restart, which pods are kept."""
    replica_specs: ReplicaSpecs
    """The replicas of the job by replica type."""

    @property
    def bounds(self) -> Mapping[str, int | None]:
        """Numbers of replicas in the kind's own settings, by path below `spec`; they have the same maximum."""
        return {}

    def with_kind_defaults(self) -> JobSpec:
        """The spec with the defaults of its kind's own settings, once those of the replicas are applied."""
        return self


class JobMetadata(ApiModel):
    """The metadata of a job that decisions depend on."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
