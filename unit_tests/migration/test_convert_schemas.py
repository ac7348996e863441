"""What conversions write has the form of v2's definitions: no unknown field, no wrong type, no entry twice."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest
from e2e.support.paths import ROOT
from unit_tests.migration.golden_corpus import NAMES, conversion
from unit_tests.migration.test_convert_any import KNOWN

from training_local.apiserver.custom.schema_validation import schema_causes, uniqueness_causes
from training_local.apiserver.custom.structural import Structural, compile_schema, shape
from training_migration.convert import convert
from training_migration.convert.conversion import Conversion, Options
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job

Json = dict[str, Any]
DEFINITIONS = ROOT / "e2e" / "support" / "definitions" / "trainer"
PLURALS = {"TrainJob": "trainjobs", "TrainingRuntime": "trainingruntimes"}


@cache
def schema(kind: str) -> Structural:
    definition = json.loads((DEFINITIONS / f"{PLURALS[kind]}.trainer.kubeflow.org.json").read_text())
    version = definition["spec"]["versions"][0]
    return compile_schema(version["schema"]["openAPIV3Schema"])


def complaints(given: Conversion) -> list[str]:
    found = []
    for obj in given.objects:
        root, seen = schema(obj["kind"]), copy.deepcopy(obj)
        found += [f"unknown field {path}" for path in shape(root, seen)]
        found += [str(each) for each in (*schema_causes(root, seen), *uniqueness_causes(root, seen))]
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if "2.1" not in name])
def test_golden(name: str) -> None:
    result = conversion(name)
    assert result.rejected or complaints(result) == []


@pytest.mark.parametrize("obj", KNOWN)
def test_known_jobs(obj: Json) -> None:
    try:
        job = v1_job(obj)
    except Invalid:
        return
    assert complaints(convert(job, Options(Target.V2_3))) == []


def test_what_v2_does_not_know_would_be_seen() -> None:
    result = conversion("jax")
    result.train_job["spec"]["trainer"]["ports"] = []
    assert complaints(result) == ["unknown field spec.trainer.ports"]
