"""Bodies of apply patches: YAML and JSON, keys that stand twice, and bodies that are nothing of the sort."""

from __future__ import annotations

import pytest

from training_local.apiserver.errors import ApiError
from training_local.apiserver.ownership.config import read_config


@pytest.mark.parametrize(
    ("body", "config"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        (b"a: 2026-01-01\nb: 2026-01-01T00:00:00Z\n", {"a": "2026-01-01", "b": "2026-01-01T00:00:00Z"}),
        (b"a: yes\nb: 'yes'\nc: 0x10\n", {"a": True, "b": "yes", "c": 16}),
        (b"1: one\ntrue: two\n", {"1": "one", "true": "two"}),
        (b"a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
        (b"a: &x {b: 1}\nc: {<<: *x, d: 2}\n", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        (b"", {}),
        (b"null", {}),
        (b"a: !!set {b, c}\n", {"a": ["b", "c"]}),
    ],
)
def test_what_is_read(body: bytes, config: object) -> None:
    found, repeated = read_config(body)
    if isinstance(found.get("a"), list) and body.startswith(b"a: !!set"):
        found["a"].sort()
    assert (found, repeated) == (config, [])


@pytest.mark.parametrize("body", [b"a: 1\nb:\n  c: 1\n  c: 2\n", b'{"a": 1,\n "b": {"c": 1,\n\n "c": 2}}'])
def test_keys_that_stand_twice(body: bytes) -> None:
    found, repeated = read_config(body)
    assert found == {"a": 1, "b": {"c": 2}}
    assert repeated == ['line 4: key "c" already set in map']


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"text",
        b"a: b: c",
        b"a: !!python/object/apply:os.system [ls]",
        b"a: &x [*x]\nb: *x",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"a: " + b"[" * 900 + b"]" * 900,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b"{" * 1_000_000,
        b"- " * 100_000,
        b"---\na: 1\n---\nb: 2\n",
        b"? [a, b]\n: c\n",
    ],
)
def test_what_is_rejected(body: bytes) -> None:
    with pytest.raises(ApiError, match="error decoding YAML") as rejected:
        read_config(body)
    assert rejected.value.code == 400


def test_aliases_of_aliases_are_rejected_before_they_are_written_out() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with pytest.raises(ApiError, match="excessive aliasing"):
        read_config("\n".join(lines).encode())
