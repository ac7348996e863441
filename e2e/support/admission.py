"""The table of admissions (`admission_cases.yaml`) as jobs and what becomes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2e.support.every_kind import EVERY_KIND, led

from training_api.constants import API_VERSION
from training_api.kinds import KindInfo

Object = dict[str, Any]

TABLE: Object = yaml.load(Path(__file__).with_name("admission_cases.yaml").read_text(), yaml.CSafeLoader)
TYPE_IN_BRACKETS = re.compile(r"\[([A-Za-z]\w*)\]")


@dataclass(frozen=True)
class Admission:
    """One job and what is to become of it."""

    name: str
    info: KindInfo
    job: Object
    update: Object | None
    """Merge patch of the admitted job."""
    field: str
    """Field of which the rejection speaks; empty if all is admitted."""
    says: str
    api_only: bool

    def __str__(self) -> str:
        return f"{self.info.kind}-{self.name.replace(' ', '-')}"

    def is_explained_by(self, message: str) -> bool:
        """Whether a rejection names the field and has the words that are expected."""
        return f"{uniform(self.field)}: " in uniform(message) and self.says in message


def uniform(text: str) -> str:
    """The text with one notation for entries of the replica map; the API server has two."""
    return TYPE_IN_BRACKETS.sub(r".\1", text)


def admissions() -> Iterator[Admission]:
    """Every case for every kind that it names."""
    for case in TABLE["cases"]:
        kinds = case["kind"]
        if isinstance(kinds, str):
            kinds = EVERY_KIND if kinds == "every" else [kinds]
        for info in (EVERY_KIND[kind] for kind in kinds):
            rejected = case.get("rejected", {})
            yield Admission(
                case["name"],
                info,
                _job(info, _filled(case.get("job", {}), info)),
                _with_map(info, _filled(case["update"], info)) if "update" in case else None,
                _filled(rejected.get("field", ""), info),
                _filled(rejected.get("says", ""), info),
                "api_only" in case or "update" in case,
            )


def _job(info: KindInfo, patch: Object) -> Object:
    base: Object = {
        "apiVersion": API_VERSION,
        "kind": info.kind,
        "metadata": {"name": "job"},
        "spec": TABLE["base"].get(info.kind)
        or {"replicas": {name: {"replicas": count} for name, count in led(info.kind).items()}},
    }
    job = merge(base, patch)
    container = {"name": info.container, "image": "example.com/train:1"}
    template = {"spec": {"containers": [container]}}
    for replica_type, replica in ((job.get("spec") or {}).get("replicas") or {}).items():
        given = (patch.get("spec") or {}).get("replicas", {}).get(replica_type) or {}
        if "template" not in given:
            replica["template"] = template
        elif given["template"] is not None:
            replica["template"] = merge(template, given["template"])
    return _with_map(info, job)


def _with_map(info: KindInfo, job: Object) -> Object:
    spec = dict(job.get("spec") or {})
    if "replicas" in spec:
        spec[info.replica_field] = spec.pop("replicas")
    return {**job, "spec": spec} if "spec" in job else job


def _filled(value: Any, info: KindInfo) -> Any:
    """The value with the names of the kind in place of their stand-ins."""
    text = json.dumps(value).replace("{map}", info.replica_field).replace("{container}", info.container)
    return json.loads(text)


def merge(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Object:
    """JSON merge patch: mappings merge, null removes, all else replaces."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merge(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result
