"""Every rule of the catalogue is one that lint finds, with tests both ways, or is listed with the reason why not."""

from __future__ import annotations

from unit_tests.migration.lint.test_around_rules import FILE_CASES, OBJECT_CASES, TOGETHER_CASES
from unit_tests.migration.lint.test_script_rules import CASES as SCRIPT_CASES
from unit_tests.migration.lint.test_v2_rules import CASES as V2_CASES
from unit_tests.migration.lint.v1_cases import CASES as V1_CASES

from training_migration.lint import ELSEWHERE, LINTED
from training_migration.rules import RULES

TABLES = (V1_CASES, V2_CASES, SCRIPT_CASES, FILE_CASES, OBJECT_CASES, TOGETHER_CASES)


def test_every_rule_is_found_by_lint_or_listed() -> None:
    assert LINTED | ELSEWHERE.keys() == RULES.keys()
    assert LINTED & ELSEWHERE.keys() == set()
    assert all(reason for reason in ELSEWHERE.values())


def test_every_rule_that_lint_finds_has_a_positive_and_a_negative_test() -> None:
    both = {rule for table in TABLES for rule, (yes, no) in table.items() if yes and no}
    assert both == LINTED
