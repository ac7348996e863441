"""The catalogue of rules is complete and can be read."""

from __future__ import annotations

import re

import pytest

from training_migration.findings import Rule
from training_migration.rules import RULES, handwritten, launch, lifecycle, surroundings, target, topology

HUNDREDS = {"0": target, "1": launch, "2": topology, "3": lifecycle, "4": surroundings, "5": handwritten}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_what_it_finds_why_and_what_to_do(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z`].{10,70}[^.]", rule.finds), "the title of its page"
    for sentences in (rule.why, rule.remedy):
        assert re.fullmatch(r"[A-Zvax`].*\.", sentences), sentences
        assert "  " not in sentences and sentences.count("`") % 2 == 0
    assert re.search(r"#\d+|https://|kubeflow/trainer|kubernetes-sigs/", rule.reference)


def test_rules_lie_by_their_hundred_in_order() -> None:
    assert all(re.fullmatch(r"MIG\d{3}", rule) for rule in RULES)
    for digit, module in HUNDREDS.items():
        ids = [rule.id for rule in module.RULES]
        assert ids == sorted(set(ids))
        assert {rule[3] for rule in ids} == {digit}
