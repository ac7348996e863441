"""Small files that stand for something huge, endless or too deep, each with words of the sentence that it deserves."""

from __future__ import annotations

import json

_CONTAINER = {"name": "tensorflow", "image": "example.com/train:1", "command": ["python", "train.py"]}
JOB = json.dumps(
    {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "a", "namespace": "team"},
        "spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [_CONTAINER]}}}}},
    }
)
_HEAD = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a}\n"
_TIMES = 9


def _levels(first: str, each: str) -> str:
    """Thirty levels, each of which has the one before nine times."""
    aliases = [", ".join([f"*a{level - 1}"] * _TIMES) for level in range(1, 30)]
    return "\n".join([f"a0: &a0 {first}", *(f"a{i}: &a{i} {each % inside}" for i, inside in enumerate(aliases, 1))])


BOMBS: dict[str, tuple[str, str]] = {
    "aliases": (f"{_HEAD}{_levels('[x, x]', '[%s]')}\n", "expand to too many values"),
    "merges": (f"{_HEAD}{_levels('{x: 1, y: 2}', '{<<: [%s]}')}\n", "expand to too many values"),
    "text by alias": (f"{_HEAD}a: &a {'x' * 5000}\nb: [{', '.join(['*a'] * 5000)}]\n", "expand to too many values"),
    "self-reference": (f"{_HEAD}spec: &a\n  b: *a\n", "a value that contains the alias"),
    "self-reference by a merge": (f"{_HEAD}spec: &a\n  <<: *a\n", "a value that contains the alias"),
    "self-reference as a key": (f"{_HEAD}spec: &a\n  ? *a\n  : 1\n", "a value that contains the alias"),
    "chain of aliases": (
        "\n".join([_HEAD, "a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 400))]),
        "nested too deeply",
    ),
    "flow": ("[" * 100_000, "nested too deeply"),
    "block": ("- " * 100_000, "nested too deeply"),
    "mappings of JSON": ('{"a":' * 400 + "1" + "}" * 400, "nested too deeply"),
    "lists of lists": ('{"kind":"List","items":[' * 300 + "]}" * 300, "nested too deeply"),
    "infinite number": ('{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "a": 1e999}', "inf"),
    "digits": (f"{_HEAD}a: {'9' * 5000}\n", "digits"),
}
