"""The table of admissions tries every rule with every kind that it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.admission import TABLE, admissions

from training_api.registry import KINDS

SPECIFICATION = Path(__file__).resolve().parents[2].parent / "shared" / "spec" / "frameworks.md"
COLUMNS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob")
RULES = [*TABLE["rules"], *TABLE["added"]]
EXPECTED = [
    (rule["rule"], kind, part) for rule in RULES for part in ("refuses", "admits") for kind in rule.get(part, ())
]
TRIED = {(a.rule, a.info.kind, "refuses" if a.field else "admits") for a in admissions() if a.rule}


@pytest.mark.parametrize(("rule", "kind", "verdict"), EXPECTED)
def test_a_case_tries_it(rule: str, kind: str, verdict: str) -> None:
    assert kind in KINDS
    assert (rule, kind, verdict) in TRIED


def test_no_case_says_otherwise() -> None:
    assert set(EXPECTED) >= TRIED


def rows() -> dict[str, list[str]]:
    """The matrix of the specification: rule -> one cell for each kind."""
    lines = SPECIFICATION.read_text().partition("### 1.5 ")[2].partition("\n## ")[0].splitlines()
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|"))
    return {rule: rest for rule, *rest in cells if rule != "Check" and not rule.startswith("---")}


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the specification is not beside this checkout")
def test_the_rules_are_those_of_the_specification() -> None:
    found = {rule["rule"]: _verdicts(rule) for rule in TABLE["rules"]}
    assert found == {rule: [*map(_refuses, cells)] for rule, cells in rows().items()}


def _verdicts(rule: dict[str, Any]) -> list[bool]:
    """Who refuses, with v1's verdict where a decision changed it."""
    amended = {kind for kinds in rule.get("amended", {}).values() for kind in kinds}
    return [(kind in rule["refuses"]) != (kind in amended) for kind in COLUMNS]


def _refuses(cell: str) -> bool:
    return not cell.replace("*", "").startswith(("no", "\N{EN DASH}"))
