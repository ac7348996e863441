"""Reading objects: every source, every way to write several, and what is no object at all."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st

from training_api.documents import Document, read
from training_api.yaml_text import DEEPEST, dump, parts

Json = dict[str, Any]
JOB = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.lists(
    st.builds(lambda extra: {**extra, **JOB}, st.dictionaries(st.text(max_size=9), VALUES, max_size=3)), max_size=3
)


def from_text(text: str) -> list[Document]:
    return list(read(["-"], io.StringIO(text)))


def objects(text: str) -> list[Json | None]:
    return [each.object for each in from_text(text)]


def as_lines(items: list[Json]) -> str:
    return "\n".join(json.dumps(each) for each in items)


@settings(max_examples=tries(10))
@given(OBJECTS, st.sampled_from([dump, as_lines]))
def test_what_is_written_is_read(items: list[Json], write: Any) -> None:
    text = write(items)
    assert objects(text) == items
    assert objects(write([{"apiVersion": "v1", "kind": "List", "items": items}])) == items


@given(st.text() | st.lists(st.sampled_from("-: [{}]&a*b#%!|>\n\"' ab1")).map("".join))
def test_every_text_is_objects_or_reasons(text: str) -> None:
    for each in from_text(text):
        assert (each.object is None) == bool(each.error)
        assert 1 <= each.line <= text.count("\n") + 2
        assert "\n" not in each.error
        json.dumps(each.object, allow_nan=False)


@settings(max_examples=tries(10))
@given(OBJECTS, OBJECTS)
def test_a_broken_document_spoils_no_other(before: list[Json], after: list[Json]) -> None:
    read_back = from_text(f"{dump(before)}\n---\na: [1\n---\n{dump(after)}")
    assert [each.object for each in read_back] == [*before, None, *after]


def test_every_object_has_the_line_where_it_begins() -> None:
    text = (
        "# a comment\n---\n# another\na: 1\n---\n---\n# nothing\n--- # a remark\n\nb: |\n  text\n  --- not a marker\n"
        "---\nkind: List\nitems:\n- c: 1\n\n-\n  d: 1\n"
    )
    found = [(each.line, each.object) for each in from_text(text)]
    assert found == [(4, {"a": 1}), (10, {"b": "text\n--- not a marker\n"}), (16, {"c": 1}), (19, {"d": 1})]


def test_json_values_may_follow_each_other() -> None:
    found = from_text('\n{"a": 1}\n{\n"b": 2}{"c": 3}')
    assert [(each.line, each.object) for each in found] == [(2, {"a": 1}), (3, {"b": 2}), (4, {"c": 3})]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("10:30", "10:30"),
        ("1:2:3.5", "1:2:3.5"),
        ("=", "="),
        ("1e3", 1000.0),
        ("0644", 420),
        ("0x10", 16),
        ("-1", -1),
        ("1_000", 1000),
        (".5", 0.5),
        ("yes", True),
        ("n", False),
        ("08", 8.0),
        ("0o17", 15),
        ("~", None),
        ("1.30", 1.3),
        ("v1.30", "v1.30"),
    ],
)
def test_plain_words_mean_what_they_mean_to_kubernetes(text: str, value: object) -> None:
    assert objects(f"a: {text}") == [{"a": value}]


WORDS = [
    "y",
    "N",
    "off",
    "1e3",
    "0o7",
    "08",
    ".5e3",
    "1_000",
    "10:30",
    "2024-01-01",
    "0x1F",
    "=",
    "<<",
    "~",
    "null",
    ".inf",
    "-1",
    "+.5",
    "-",
    "?",
    "a:b",
]


@pytest.mark.parametrize(
    "word", [*WORDS, "", " ", "a\nb", "a \nb\n", "\n", "- a", "#", "a #b", "\x07", "\u2028", "é🙂"]
)
def test_strings_stay_strings_when_they_are_written(word: str) -> None:
    assert objects(dump([{"a": word, word: 1, "c": [word]}])) == [{"a": word, word: 1, "c": [word]}]


def test_what_is_written_is_readable() -> None:
    shared = {"x": "1"}
    text = dump([{"b": "one\ntwo\n", "a": [shared, shared], "c": {}}, {"d": "w " * 200}])
    assert text == f"b: |\n  one\n  two\na:\n- x: '1'\n- x: '1'\nc: {{}}\n---\nd: '{'w ' * 200}'\n"


def test_keys_are_text() -> None:
    assert objects("2: a\ntrue: b\nnull: c\n") == [{"2": "a", "true": "b", "null": "c"}]


def test_lists_of_one_kind_say_the_kind_only_once() -> None:
    text = json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJobList", "items": [{"metadata": {}}]})
    assert objects(text) == [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {}}]


def test_what_is_no_list_of_objects_is_an_object() -> None:
    assert objects("kind: List\nitems: 3\n") == [{"kind": "List", "items": 3}]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [\n", 3, "did not find expected"),
        ("a: 1\n---\n{{ if .Values.x }}\nb: 1\n", 3, "it looks like a Helm template"),
        ("a:\n  b: 1\n\tc: 1\n", 3, "it contains tabs: indent YAML with spaces"),
        ("- a\n", 1, "It is a list, not an object with apiVersion and kind."),
        ("--- 3\n", 1, "It is 3, not an object"),
        ("a: &a\n  b: *a\n", 1, "refers to a value that contains the alias"),
        ("a: .nan\n", 1, "JSON has no equivalent of nan"),
        ("a: !!binary aGk=\n", 1, "JSON has no equivalent of b'hi'"),
        ("a: !!python/name:os.system x\n", 1, "could not determine a constructor"),
        ("? [a]\n: b\n", 1, "found unhashable key"),
        ("a: 1\n\tb: 2\n", 2, "found a tab character"),
        ("a: \x01\n", 1, "control characters are not allowed"),
        ("kind: List\nitems:\n- 3\n- {}\n", 3, "It is 3, not an object"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(text: str, line: int, words: str) -> None:
    found = from_text(text)[0 if "{{" not in text else 1]
    assert found.object is None
    assert words in found.error
    assert found.line == line


@pytest.mark.parametrize("deep", ["[", "- ", "? ", "[{a: "])
@pytest.mark.parametrize("levels", [DEEPEST + 1, 100_000])
def test_depth_does_not_end_the_process(deep: str, levels: int) -> None:
    assert [("nested too deeply" in each.error) for each in from_text(deep * levels)] == [True]


def test_aliases_do_not_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))]
    assert "expand to too many values" in from_text("\n".join(lines))[0].error


def test_folders_are_read_with_all_below_but_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/y.json", "a/readme.md", ".git/x.yaml", ".hidden.yaml", "a/.b/c.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"name": name}))
    found = [(each.source, each.object) for each in read([str(tmp_path)], io.StringIO())]
    assert found == [(str(tmp_path / name), {"name": name}) for name in ("b.yaml", "a/y.json", "a/z.yml")]


def test_files_have_any_name_and_come_in_the_given_order_with_standard_input(tmp_path: Path) -> None:
    for name in ("x", "w"):
        (tmp_path / name).write_text(f"name: {name}\n")
    found = list(read([str(tmp_path / "x"), "-", str(tmp_path / "w")], io.StringIO("name: in")))
    assert [(each.source, each.line, each.object) for each in found] == [
        (str(tmp_path / "x"), 1, {"name": "x"}),
        ("-", 1, {"name": "in"}),
        (str(tmp_path / "w"), 1, {"name": "w"}),
    ]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "image.yaml").write_bytes(b"\x89PNG\xff")
    (tmp_path / "marked.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    found = list(read([str(tmp_path / "none.yaml"), str(tmp_path)], io.StringIO()))
    assert [(each.object, each.error) for each in found] == [
        (None, "It cannot be read: No such file or directory."),
        (None, "It is not text in UTF-8."),
        ({"a": 1, "b": 2}, ""),
    ]


def test_nothing_is_shared_between_places_with_one_anchor() -> None:
    [part] = parts("a: &x {b: 1}\nc: *x\n")
    part.value["a"]["b"] = 2
    assert part.value["c"] == {"b": 1}
