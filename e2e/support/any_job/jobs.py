"""Arbitrary jobs of a kind, made from the schema of its CRD."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

import yaml
from e2e.support.paths import ROOT

from training_api.registry import KINDS

Json = dict[str, Any]
MOST_REPLICAS: Final = 100
"""Of a type, where the number is fixed: what large jobs cost is for tests of their own."""
ODD_TEXTS: Final = (
    *("", " ", "0", "-1", "null", "true", "1e400", "1" * 400, "1e999999", "10Gi"),
    *("a\0b", "\x1b[2J\x1b]0;x\x07", "\u202e", "\ud7ff", "é" * 70, "x" * 3000),
    *("../..", "$(A)$(A)", "{{x}}", "%s", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"),
)
"""Texts in fields of any meaning."""
ODD_NUMBERS: Final = (0, -1, 1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63) - 1, 10**30)
ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, "", "x", 0, -1.5, 1e308),
    *([], {}, [None], [[]], {"": None}, [{"name": None}]),
)
MOST_OBVIOUS: Final = ("replicas", "template", "spec", "containers", "runPolicy", "name", "image", "metadata")
"""Fields that are left out rarely, so that what lies below them is reached."""

READ = (
    "env ports resources limits requests command args initContainers volumeMounts volumes labels annotations hostname"
)
LIKELY: Final = frozenset(READ.split())
"""Fields deep in pod templates that are read."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes values for schemas; the higher `odd`, the less they keep to them."""

    kind: str
    random: Random
    odd: float

    def value(self, schema: Json, name: str = "", depth: int = 0) -> Any:
        """A value for a schema."""
        if self.random.random() < self.odd:
            return deepcopy(self.random.choice(ODD_VALUES))
        match schema.get("type"):
            case "object":
                return self._object(schema, name, depth)
            case "array":
                number = self.random.choice((0, 1, 1, 2, 3))
                return [self.value(schema["items"], name, depth + 1) for _ in range(number)]
            case _:
                return self._scalar(schema, name)

    def _scalar(self, schema: Json, name: str) -> Any:
        random = self.random
        if "enum" in schema and random.random() > self.odd:
            return random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return random.choice([1, "1", "500m", "10Gi", *ODD_TEXTS, *ODD_NUMBERS])
        match schema.get("type"):
            case "integer" | "number":
                return random.choice((0, *ODD_NUMBERS) if random.random() < 0.3 else (1, 2, 3))
            case "boolean":
                return random.random() < 0.5
            case "string":
                return self._text(schema, name)
        return deepcopy(random.choice(ODD_VALUES))

    def _object(self, schema: Json, name: str, depth: int) -> Json:
        if "properties" not in schema:
            inner = schema.get("additionalProperties")
            keys = self._keys(name)
            return {key: self.value(inner, key, depth + 1) if isinstance(inner, dict) else "x" for key in keys}
        required = schema.get("required", ())
        return {
            key: self.value(inner, key, depth + 1)
            for key, inner in schema["properties"].items()
            if self.random.random() < self._chance(key, key in required, depth)
        }

    def _chance(self, key: str, required: bool, depth: int) -> float:
        if required or key in MOST_OBVIOUS:
            return 1 - self.odd if required else 0.97 - self.odd
        return 0.5 if depth < 3 or key in LIKELY else 0.05

    def _keys(self, name: str) -> list[str]:
        info = KINDS[self.kind]
        if name in (info.replica_field, "replicaStatuses"):
            types = [*info.replica_types, *(each.lower() for each in info.replica_types)]
            known = self.random.sample(info.replica_types, self.random.randint(1, len(info.replica_types)))
            return known if self.random.random() > self.odd else [*known, self.random.choice([*types, *ODD_TEXTS])]
        return self.random.sample([*ODD_TEXTS[:8], "cpu", "memory", "nvidia.com/gpu", "app"], self.random.randint(0, 3))

    def _text(self, schema: Json, name: str) -> str:
        if self.random.random() < max(self.odd, 0.005):
            return self.random.choice(ODD_TEXTS)
        if schema.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        info = KINDS[self.kind]
        match name:
            case "name":
                return self.random.choice([info.container, info.port_name, "side", "RANK"])
            case "command" | "args":
                return self.random.choice(["sh", "-c", "torchrun --nnodes=2 t.py", "mpirun", "$(RANK)"])
            case "value":
                return self.random.choice(["1", "a", "$(A)", "29500"])
        return self.random.choice(["a", "b", "1"])


@cache
def definition(kind: str) -> Json:
    """The CRD of a kind."""
    text = (ROOT / "crds" / f"kubeflow.org_{KINDS[kind].plural}.yaml").read_text()
    found: Json = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def any_job(kind: str, seed: object) -> Json:
    """An arbitrary job of a kind, the same one for the same seed."""
    random = Random(f"{kind} {seed}")
    maker = Maker(kind, random, random.choice((0.0, 0.0, 0.01, 0.05, 0.2)))
    schema = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    name = random.choice(["job"] * 8 + ["Job", "x" * 64, "1job", ""])
    meta: Json = {"name": name, "namespace": "ns", "uid": "u", "generation": 1}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if random.random() < 0.3:
        meta["annotations"] = {
            f"extension.training.kubeflow.org/{key}": random.choice(["job", "ssh", "false", *ODD_TEXTS])
            for key in random.sample(["restart-scope", "mpi-launch", "disruptions", "init-container", "x"], 2)
        }
    job: Json = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": meta}
    job["spec"] = maker.value(schema["spec"], "spec")
    if isinstance(job["spec"], dict) and maker.odd < 0.1 and random.random() < 0.8:
        _mend(job)
    if random.random() < 0.5:
        job["status"] = maker.value(schema["status"], "status")
    return job


def _mend(job: Json) -> None:
    """Take away what nearly every arbitrary job is rejected for, so that the others get further."""
    info, spec = KINDS[job["kind"]], job["spec"]
    job["metadata"]["name"] = "job"
    replicas = {name: _mapping(replica) for name, replica in _mapping(spec.get(info.replica_field)).items()}
    replicas = {name: {} for name in info.required_types} | replicas
    if "Chief" in replicas:
        replicas.pop("Master", None)
    for name, replica in replicas.items():
        count = replica.get("replicas")
        count = count if isinstance(count, int) and name not in info.single_types else 1
        replica["replicas"] = min(abs(count), MOST_REPLICAS)
        template = replica["template"] = _mapping(replica.get("template"))
        pod = template["spec"] = _mapping(template.get("spec"))
        given = pod.get("containers")
        containers = pod["containers"] = given if given and isinstance(given, list) else [{}]
        for number, container in enumerate(each for each in containers if isinstance(each, dict)):
            container |= {"name": f"side-{number}" if number else info.container, "image": "example.com/train:1"}
    spec[info.replica_field] = replicas
    policy = _mapping(spec.get("runPolicy"))
    policy.pop("managedBy", None)
    _mapping(policy.get("schedulingPolicy")).pop("minResources", None)


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
