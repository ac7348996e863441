"""The table of admissions tries every rule with every kind that it is about."""

from __future__ import annotations

import pytest
from e2e.support.admission import TABLE, admissions

from training_api.registry import KINDS

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
