"""What distinguishes one job kind from another as far as its data goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from training_api import name_rules
from training_api.models.common import JobMetadata, JobSpec, JobStatus, ReplicaSpec, RestartPolicy
from training_api.problems import ProblemKind


@dataclass(frozen=True, slots=True)
class SpecRule:
    """A rule about the spec of one kind, in CEL for the API server and in Python for objects that slipped in."""

    path: str
    """The field to blame, below `spec`; a replica type stands in brackets."""
    problem: ProblemKind
    detail: str
    cel: str
    """Expression over the spec as `self`, true where the rule is kept; replica types may be in any case."""
    broken: Callable[[Any], bool]
    """Whether a spec (of the kind's model, with canonical replica types) breaks the rule."""


class BadDeclaration(ValueError):
    """A kind cannot be as it is declared; one line per problem names kind, field, value, and what would be right."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """The declaration of one job kind; CRDs, defaults, validation and engine are derived from it.

    Raises `BadDeclaration` with all that is wrong with it: what Kubernetes would reject later, with every CRD,
    pod or service of the kind, or what would have no effect.
    """

    kind: str
    plural: str
    short_names: tuple[str, ...]
    spec: type[JobSpec]
    replica_field: str
    """Name of the replica map under `spec`, as on the wire (for example `pytorchReplicaSpecs`)."""
    replica_types: tuple[str, ...]
    """Canonical replica types in the order in which they are processed (K-10)."""
    container: str
    port_name: str
    port: int
    restart_policy: RestartPolicy
    scalable: bool
    """Whether there is a scale subresource on the Worker replicas, and a selector in their status."""
    metrics_label: str
    """Value of the label `framework` of the job counters."""
    services: bool = True
    """Whether every replica has a service of its name. Then the job's name must fit into that of a service, and the
    container called `container` must exist and gets the default port."""
    other_types: bool = False
    """Whether replica types next to the canonical ones are accepted."""
    required_types: tuple[str, ...] = ()
    """Types without which the job is rejected."""
    single_types: tuple[str, ...] = ()
    """Types that have exactly one replica if they are present."""
    populated_types: tuple[str, ...] = ()
    """Types that have at least one replica if they are present."""
    unnumbered_types: tuple[str, ...] = ()
    """Types with a single replica whose pod has no index in its name and its labels."""
    default_replicas: Mapping[str, int] = field(default_factory=dict)
    """Number of replicas where it is absent, for types of which that is not 1."""
    rules: tuple[SpecRule, ...] = ()
    """What else is rejected."""
    age_first: bool = False
    """Whether `kubectl get` shows the column Age before the column State."""

    def __post_init__(self) -> None:
        if problems := [f"{self.kind}: {problem}" for problem in _problems(self)]:
            raise BadDeclaration("\n".join(problems))

    @property
    def singular(self) -> str:
        """The kind in lower case, as in `kubectl get pytorchjob`."""
        return self.kind.lower()

    @property
    def controller_name(self) -> str:
        """Name of the controller: value of the operator-name label and source of events."""
        return f"{self.singular}-controller"

    def default_count(self, replica_type: str) -> int:
        """Number of replicas of a type where it is absent."""
        return self.default_replicas.get(self.canonical_type(replica_type), 1)

    def replica_path(self, replica_type: str) -> str:
        """The entry of a replica type as error texts write it, for example `spec.pytorchReplicaSpecs[Worker]`."""
        return f"spec.{self.replica_field}[{replica_type}]"

    def canonical_type(self, replica_type: str) -> str:
        """The canonical spelling of a replica type given in any case; a type that the kind does not have stays."""
        folded = replica_type.lower()
        return next((known for known in self.replica_types if known.lower() == folded), replica_type)


@dataclass(frozen=True, slots=True)
class Job:
    """A decoded job of any kind; replica types are canonical and complete once defaults are applied."""

    info: KindInfo
    metadata: JobMetadata
    spec: JobSpec
    status: JobStatus

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.metadata.namespace, self.metadata.name

    @property
    def replicas(self) -> Mapping[str, ReplicaSpec]:
        """The replica map of the spec, once defaults are applied in processing order."""
        return self.spec.replica_specs

    def count(self, replica_type: str) -> int:
        """Desired replicas of a type; 0 for a type that the job does not have, and for a negative number (K-07)."""
        return max(self.replicas[replica_type].replicas or 0, 0) if replica_type in self.replicas else 0

    @property
    def total(self) -> int:
        """Desired replicas of all types together."""
        return sum(map(self.count, self.replicas))

    def main_container(self, replica_type: str) -> str:
        """Name of the container whose end counts: the one of the fixed name, or the first where names are free."""
        if self.info.services:
            return self.info.container
        containers = (self.replicas[replica_type].template.get("spec") or {}).get("containers") or ()
        return str(containers[0].get("name", "")) if containers else ""


def _problems(info: KindInfo) -> Iterator[str]:
    """What is wrong with a declaration, in the order of its fields."""
    if wrong := [*_of_wrong_type(info)]:
        yield from wrong
        return
    names = [
        ("kind", info.kind, name_rules.KIND),
        ("plural", info.plural, name_rules.RESOURCE_NAME),
        *(("short_names", name, name_rules.RESOURCE_NAME) for name in info.short_names),
        ("replica_field", info.replica_field, name_rules.FIELD),
        *(("replica_types", name, name_rules.REPLICA_TYPE) for name in info.replica_types),
        ("container", info.container, name_rules.CONTAINER_NAME),
        ("port_name", info.port_name, name_rules.PORT_NAME),
    ]
    for field_name, name, rule in names:
        if problem := rule.broken_by(name):
            yield f"{field_name} {name!r} {problem}"
    stored_as = info.spec.model_fields["replica_specs"].alias
    if info.replica_field != stored_as:
        spec = info.spec.__name__
        yield f"replica_field {info.replica_field!r} must be {stored_as!r}, the alias of replica_specs in {spec}"
    if not 1 <= info.port <= 65535:
        yield f"port {info.port} must be from 1 to 65535"
    yield from _type_problems(info)


def _of_wrong_type(info: KindInfo) -> Iterator[str]:
    """What a type checker would find: a string in place of a tuple would be read as a tuple of its letters."""
    for each in fields(info):
        value = getattr(info, each.name)
        if str(each.type).startswith("tuple[") and not isinstance(value, tuple):
            yield f"{each.name} {value!r} must be a tuple, for example ({value!r},)"
    if not (isinstance(info.spec, type) and issubclass(info.spec, JobSpec)):
        yield f"spec {info.spec!r} must be a subclass of JobSpec"
    if not isinstance(info.port, int):
        yield f"port {info.port!r} must be an integer"


def _type_problems(info: KindInfo) -> Iterator[str]:
    """Replica types that are spoken of and that the kind does not have."""
    types = info.replica_types
    if len({name.lower() for name in types}) != len(types) or not types:
        yield f"replica_types {types} must be one type or more, none of them twice in any spelling"
    speaking: dict[str, Iterable[str]] = {
        "required_types": info.required_types,
        "single_types": info.single_types,
        "populated_types": info.populated_types,
        "unnumbered_types": info.unnumbered_types,
        "default_replicas": info.default_replicas,
    }
    for field_name, names in speaking.items():
        for name in names:
            if name not in types:
                yield f"{field_name} {name!r} must be one of replica_types, {', '.join(types)}"
    if info.scalable and "Worker" not in types:
        yield f"scalable True needs the type Worker, whose number is scaled, among replica_types, {', '.join(types)}"
    for name in info.unnumbered_types:
        if name not in info.single_types:
            yield f"unnumbered_types {name!r} must be one of single_types, too: two pods of it would have one name"
