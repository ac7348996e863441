"""Which environment each replica gets, and whom it meets: from the framework's own functions, before any pod exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.decode import DecodeError, decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_api.printable import legible
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild

MOST_REPLICAS: Final = 64
"""Of which the environment is shown."""
LONGEST_VALUE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Rank:
    """One replica and what it is told."""

    pod: str
    variables: Mapping[str, str]
    """Those that the operator adds."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """What all replicas are told alike, and what differs."""

    common: Mapping[str, str]
    differing: tuple[str, ...]
    """Names of the variables that are not the same for all."""
    replicas: tuple[Rank, ...]
    left_out: int = 0
    problem: str = ""
    """Why nothing can be said; empty if it can."""


def ranks(kind: str, stored: Mapping[str, Any]) -> Ranks:
    """Compute what the replicas of a stored job get; a job that cannot be used has a problem in place of replicas."""
    framework = frameworks().get(kind)
    if framework is None:
        return Ranks({}, (), (), problem=f"The operator does not run {kind}s.")
    try:
        job = with_defaults(decode_job(framework.info, stored))
        slots = [Slot(name, index) for name in job.replicas for index in range(min(job.count(name), MOST_REPLICAS))][
            :MOST_REPLICAS
        ]
        replicas = tuple(Rank(replica_name(job, slot), _added(job, framework, slot)) for slot in slots)
    except (DecodeError, CannotBuild) as error:
        return Ranks({}, (), (), problem=legible(str(error)))
    names = list(dict.fromkeys(name for rank in replicas for name in rank.variables))
    differing = tuple(name for name in names if len({rank.variables.get(name) for rank in replicas}) > 1)
    first = replicas[0].variables if replicas else {}
    common = {name: first[name] for name in names if name not in differing}
    return Ranks(common, differing, replicas, sum(map(job.count, job.replicas)) - len(replicas))


def _added(job: Job, framework: Framework, slot: Slot) -> dict[str, str]:
    template: Mapping[str, Any] = job.replicas[slot.replica_type].template.get("spec") or {}
    built = framework.configure_pod(job, slot, template)
    given = {(c["name"], e["name"]) for c in template.get("containers") or () for e in c.get("env") or ()}
    return {
        entry["name"]: legible(_value(entry), LONGEST_VALUE)
        for container in built.get("containers") or ()
        for entry in container.get("env") or ()
        if (container["name"], entry["name"]) not in given
    }


def _value(entry: Mapping[str, Any]) -> str:
    if "value" in entry or "valueFrom" not in entry:
        return str(entry.get("value", ""))
    source = entry["valueFrom"]
    field = source.get("fieldRef") or {}
    return f"(field {field['fieldPath']})" if field else f"(from {next(iter(source), 'elsewhere')})"
