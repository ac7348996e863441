"""What recordings of a real server cannot show: internal limits and errors of rules."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from training_local.apiserver.builtin.crds import crd_causes
from training_local.apiserver.crd import crd_types
from training_local.apiserver.custom.cel import program
from training_local.apiserver.custom.json_path import JsonPath, PathError
from training_local.apiserver.custom.rules import RuleTree, compile_rule
from training_local.apiserver.custom.schema_validation import schema_causes
from training_local.apiserver.custom.structural import compile_schema, shape
from training_local.apiserver.errors import Cause

SPEC: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


def _tree(*rules: dict[str, Any], **schema: Any) -> RuleTree:
    return RuleTree(compile_schema({"type": "object", **schema, "x-kubernetes-validations": list(rules)}))


def _said(tree: RuleTree, value: Any, old: Any = None) -> list[Cause]:
    return list(tree.causes(value, old))


def test_a_rule_is_compiled_once() -> None:
    assert program("self.a == 1") is program("self.a == 1")


def test_a_rule_that_fails_to_evaluate_rejects() -> None:
    (cause,) = _said(_tree({"rule": "self.missing == 1", "message": "m"}), {"a": "x"})
    assert cause.message == 'Invalid value: "object": no such key: missing evaluating rule: m'


def test_the_word_old_self_in_a_text_makes_no_rule_about_changes() -> None:
    assert not compile_rule({"rule": "self.a == 'oldSelf'"}, compile_schema(SPEC)).uses_old
    assert compile_rule({"rule": "self.a == oldSelf.a"}, compile_schema(SPEC)).uses_old


def test_an_optional_old_value() -> None:
    tree = _tree({"rule": "!oldSelf.hasValue() || oldSelf.value().a == self.a", "optionalOldSelf": True})
    assert not _said(tree, {"a": "x"})
    assert _said(tree, {"a": "y"}, {"a": "x"})


def test_unchanged_parts_are_not_judged_again() -> None:
    tree = _tree({"rule": "self.a != 'x'"})
    assert _said(tree, {"a": "x"})
    assert not _said(tree, {"a": "x"}, {"a": "x"})


def test_messages_that_are_no_short_line_give_way_to_the_fixed_one() -> None:
    for expression in ("'a\\nb'", "''", "self.missing"):
        (cause,) = _said(_tree({"rule": "false", "message": "fixed", "messageExpression": expression}), {})
        assert cause.message.endswith(": fixed")


def test_whole_numbers_are_doubles_where_the_schema_says_number() -> None:
    tree = _tree({"rule": "self.n * 2.0 > 1.0"}, properties={"n": {"type": "number"}})
    assert not _said(tree, {"n": 1})


def test_functions_of_kubernetes() -> None:
    for rule in (
        "[1, 2].isSorted()",
        "!['b', 'a'].isSorted()",
        "'a1b2'.find('[0-9]') == '1'",
        "'a1b2'.findAll('[0-9]') == ['1', '2']",
        "'Ab'.lowerAscii() == 'ab'",
        "['a', 'b'].join('-') == 'a-b'",
        "'abc'.indexOf('c') == 2",
        "['a', 'b'].indexOf('b') == 1",
        "isQuantity('1Gi') && !isQuantity('x')",
        "isIP('::1') && !isIP('10.0.0') && isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0')",
        "self.?a.orValue('b') == 'b'",
        "'%s-%d'.format(['a', 3]) == 'a-3'",
        "size('ä😀') == 2",
    ):
        assert not _said(_tree({"rule": rule}), {}), rule


def test_what_does_not_call_an_unknown_function_is_evaluated() -> None:
    tree = _tree({"rule": "!has(self.url) || url(self.url).getHost() == 'a'", "message": "m"})
    assert not _said(tree, {})
    (cause,) = _said(tree, {"url": "https://a"})
    assert cause.message == 'Invalid value: "object": no such overload evaluating rule: m'


def test_a_rule_that_would_not_end_rejects() -> None:
    tree = _tree({"rule": "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))"})
    (cause,) = _said(tree, {"l": list(range(300))})
    assert "Iteration budget exceeded" in cause.message


def test_defaults_are_not_shared_between_objects() -> None:
    schema = compile_schema({"type": "object", "properties": {"o": {"type": "object", "default": {"l": []}}}})
    schema.properties["o"].preserve = True
    first: dict[str, Any] = {}
    shape(schema, first)
    first["o"]["l"].append(1)
    second: dict[str, Any] = {}
    shape(schema, second)
    assert second == {"o": {"l": []}}


def test_versions_share_one_store() -> None:
    version = {"served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    definition = {
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {**version, "name": "v1"},
                {**version, "name": "v1beta1", "storage": False},
                {**version, "name": "v1alpha1", "storage": False, "served": False},
            ],
        }
    }
    first, second = crd_types(copy.deepcopy(definition))
    assert (first.version, second.version) == ("v1", "v1beta1")
    assert first.store == second.store
    assert first.conversion is None and second.conversion is not None
    stored = second.conversion.to_storage({"apiVersion": "example.com/v1beta1", "kind": "Thing"})
    assert stored["apiVersion"] == "example.com/v1"
    assert second.conversion.from_storage(stored)["apiVersion"] == "example.com/v1beta1"
    assert not first.namespaced


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        (".l[0]", ["x"]),
        (".l[-1:]", ["y"]),
        (".l[*]", ["x", "y"]),
        (".l[7]", []),
        (".a['b']", [1]),
        (".c[?(@.t=='R')].s", ["T"]),
        ('.c[?(@.t!="R")].s', ["F"]),
        (".m.x\\.y/z", ["label"]),
        (".missing.more", []),
    ],
)
def test_json_paths(path: str, found: list[Any]) -> None:
    conditions = [{"t": "R", "s": "T"}, {"t": "S", "s": "F"}]
    assert JsonPath(path).find({"a": {"b": 1}, "l": ["x", "y"], "c": conditions, "m": {"x.y/z": "label"}}) == found


def test_json_paths_that_cannot_be_read() -> None:
    for path in ("a", ".a[", ".a[?(x)]", "$.a"):
        with pytest.raises(PathError):
            JsonPath(path)


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    # An engine that backtracks would not come back from this within a lifetime.
    schema = compile_schema({"type": "string", "pattern": "^(a+)+$"})
    assert [cause.reason for cause in schema_causes(schema, "a" * 1000 + "!")] == ["FieldValueInvalid"]
    assert not list(schema_causes(schema, "a" * 1000))


@pytest.mark.parametrize("pattern", ["[", "(?=a)", r"(a)\1", "a{2000}"])
def test_a_pattern_that_the_real_engine_does_not_know_is_rejected(pattern: str) -> None:
    level = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    definition = {
        "metadata": {"name": "odds.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": level}}],
        },
    }
    (cause,) = crd_causes(definition)
    assert cause.field == "spec.validation.openAPIV3Schema.properties[a].pattern"
    assert "must be a valid regular expression" in cause.message
