"""The CustomResourceDefinition of a kind, put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from training_api.constants import GROUP, MAX_REPLICAS, VERSION
from training_api.crd import rules
from training_api.crd.schema import structural
from training_api.crd.upstream import Schema
from training_api.kinds import KindInfo
from training_api.models.common import JobStatus
from training_api.validation import NAME_LIMIT

MAX_REPLICA_TYPES = 16
MAX_CONTAINERS = 256
"""Bounds without which the API server holds the rules for too expensive; Kubernetes itself has none."""


def build(info: KindInfo, max_replicas: int = MAX_REPLICAS) -> dict[str, Any]:
    """The CRD of a kind as an object to be applied, for jobs of so many replicas per type at most."""
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [*_columns(info)],
        "schema": {"openAPIV3Schema": job_schema(info, max_replicas)},
        "subresources": {"status": {}},
    }
    if info.scalable:
        status = ".status.replicaStatuses.Worker"
        version["subresources"]["scale"] = {
            "specReplicasPath": f".spec.{info.replica_field}.Worker.replicas",
            "statusReplicasPath": f"{status}.active",
            "labelSelectorPath": f"{status}.selector",
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{info.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": info.kind,
                "listKind": f"{info.kind}List",
                "plural": info.plural,
                "shortNames": [*info.short_names],
                "singular": info.singular,
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def job_schema(info: KindInfo, max_replicas: int = MAX_REPLICAS) -> Schema:
    """The schema of a whole job."""
    schema = {
        "description": f"A {info.kind}: the spec is its desired state, the status its observed state.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            # A label holds the name of the job, and rules can refer only to fields of the schema.
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": NAME_LIMIT}}},
            "spec": _spec_schema(info, max_replicas),
            "status": structural(JobStatus),
        },
    }
    _add_rules(schema, rules.job_rules(info))
    return schema


def _spec_schema(info: KindInfo, max_replicas: int) -> Schema:
    # A copy, in a tenth of the time that deepcopy takes: a local cluster does this at each start.
    spec: Schema = msgspec.json.decode(msgspec.json.encode(structural(info.spec)))
    _set_maximum(spec, max_replicas)
    run_policy, replica_map = spec["properties"]["runPolicy"], spec["properties"][info.replica_field]
    run_policy["default"] = {}  # clients of v1 cannot read a job without it
    run_policy["properties"]["suspend"]["default"] = False
    replica_map["maxProperties"] = MAX_REPLICA_TYPES
    replica = replica_map["additionalProperties"]
    containers = replica["properties"]["template"]["properties"]["spec"]["properties"]["containers"]
    containers["maxItems"] = MAX_CONTAINERS
    _add_rules(spec, rules.spec_rules(info))
    _add_rules(run_policy, rules.run_policy_rules())
    _add_rules(run_policy["properties"]["schedulingPolicy"]["properties"]["queue"], rules.queue_rules())
    _add_rules(replica, rules.replica_rules(info))
    _add_rules(replica["properties"]["replicas"], rules.count_rules())
    _add_rules(containers["items"], rules.container_rules())
    return spec


def _set_maximum(schema: Schema, max_replicas: int) -> None:
    """Bound every number of replicas; nothing else in the models has a maximum."""
    if "maximum" in schema:
        schema["maximum"] = max_replicas
    for inner in (*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")):
        if isinstance(inner, dict):
            _set_maximum(inner, max_replicas)


def _add_rules(schema: Schema, found: Iterator[rules.Rule]) -> None:
    if made := [*found]:
        schema["x-kubernetes-validations"] = made


def _columns(info: KindInfo) -> Iterator[dict[str, Any]]:
    """What `kubectl get` shows; with `-o wide` also what holds per replica type.

    A column can show one value and cannot add or divide, so that counts of ready replicas and of restarts are shown
    per replica type, and begin and end in place of a duration.
    """
    state = {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"}
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    yield from (age, state) if info.age_first else (state, age)
    for replica_type in info.replica_types:
        yield _wide(replica_type, "integer", f".spec.{info.replica_field}.{replica_type}.replicas")
        yield _wide(f"{replica_type} Ready", "integer", f".status.replicaStatuses.{replica_type}.ready")
        yield _wide(f"{replica_type} Restarts", "integer", f".status.replicaStatuses.{replica_type}.restarts")
    yield _wide("Waiting", "string", ".status.waiting.reason")
    yield _wide("Started", "date", ".status.startTime")
    yield _wide("Finished", "date", ".status.completionTime")


def _wide(name: str, column_type: str, path: str) -> dict[str, Any]:
    return {"name": name, "type": column_type, "jsonPath": path, "priority": 1}
