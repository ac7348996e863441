"""From a stored object to a `Job`, and from a status back to what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from training_api.kinds import Job, KindInfo
from training_api.models.common import ApiModel, JobMetadata, JobStatus
from training_api.problems import Problem, ProblemKind

Model = TypeVar("Model", bound=ApiModel)

MAPS = {"replicaStatuses", "labels", "annotations", "minResources"}
"""Fields, next to the replica map, whose keys are the user's; paths show these keys in brackets."""


class DecodeError(ValueError):
    """A stored object that is no usable job; the text is one sentence that begins with the path of the field."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Port(ApiModel):
    """What all code may rely on in a port of a container; its number may be missing."""

    name: str = ""
    protocol: str = ""


class _Variable(ApiModel):
    """What all code may rely on in a variable of a container's environment."""

    name: str


class _Resources(ApiModel):
    """What all code may rely on in the resources of a container, or of a pod."""

    limits: dict[str, Any] = Field(default_factory=dict)
    requests: dict[str, Any] = Field(default_factory=dict)


class _Container(ApiModel):
    """What all code may rely on in a container."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[_Variable, ...] = ()
    ports: tuple[_Port, ...] = ()
    volume_mounts: tuple[dict[str, Any], ...] = ()
    resources: _Resources = Field(default_factory=_Resources)
    restart_policy: str = ""


class _PodSpec(ApiModel):
    """What all code may rely on in a pod spec."""

    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    resources: _Resources = Field(default_factory=_Resources)
    priority_class_name: str = ""
    restart_policy: str = ""
    scheduler_name: str = ""
    service_account_name: str = ""


class _TemplateMetadata(ApiModel):
    """What all code may rely on in the metadata of a pod template."""

    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class _Template(ApiModel):
    """What all code may rely on in a pod template; nothing is required, and null is the same as absent."""

    metadata: _TemplateMetadata = Field(default_factory=_TemplateMetadata)
    spec: _PodSpec = Field(default_factory=_PodSpec)


def decode_job(info: KindInfo, stored: object) -> Job:
    """Read a stored object of this kind as it is, without defaults.

    Everything that the Go operator may have stored is accepted. Raises DecodeError, and nothing else, for an object
    that cannot be used.
    """
    if not isinstance(stored, Mapping):
        raise DecodeError(Problem("object", ProblemKind.INVALID, "should be a mapping", stored))
    maps = MAPS | {info.replica_field}
    metadata = _decode(JobMetadata, stored.get("metadata"), ("metadata",), maps)
    spec = _decode(info.spec, stored.get("spec"), ("spec",), maps)
    for replica_type, replica in spec.replica_specs.items():
        _decode(_Template, replica.template, ("spec", info.replica_field, replica_type, "template"), maps)
    return Job(info, metadata, spec, decode_status(info, stored.get("status")))


def decode_status(info: KindInfo, stored: object) -> JobStatus:
    """Read a stored status, None for a job without one. Raises DecodeError for one that cannot be used."""
    return _decode(JobStatus, stored or {}, ("status",), MAPS | {info.replica_field})


def encode_status(status: JobStatus) -> dict[str, Any]:
    """The status as it is stored: what is zero, empty or unknown is absent, a replica type without counts is `{}`."""
    return status.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _decode(model: type[Model], value: object, path: tuple[str, ...], maps: set[str]) -> Model:
    if value is None:
        raise _missing(_joined(path, maps))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    where = _joined((*path, *first["loc"]), maps)
    if first["type"] == "missing":
        raise _missing(where)
    raise DecodeError(Problem(where, ProblemKind.INVALID, _wording(first["msg"]), first["input"]))


def _missing(path: str) -> DecodeError:
    return DecodeError(Problem(path, ProblemKind.REQUIRED, "must be required"))


def _joined(path: Iterable[str | int], maps: set[str]) -> str:
    text, inside_map = "", False
    for step in path:
        text += f"[{step}]" if inside_map or isinstance(step, int) else f".{step}"
        inside_map = step in maps
    return text.removeprefix(".")


def _wording(message: str) -> str:
    """The library's sentence without its subject and without the names of our classes."""
    sentence = message.removeprefix("Input ").removeprefix("Value error, ").split(" or instance of ")[0]
    return sentence.replace("valid dictionary", "mapping")
