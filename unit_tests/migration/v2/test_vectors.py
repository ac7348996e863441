"""Trainer's rules, vector by vector; and that no rule can change without a vector that fails."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

import pytest
from unit_tests.migration.v2.vectors import VECTORS, Render, differences

from training_migration.v2.render import render_v2

PACKAGE = "training_migration.v2"

MUTATIONS = [
    ("names", "PORT: Final = 29500", "PORT: Final = 29400"),
    ("names", 'f"{train_job}-{NODE}-0-0.{train_job}"', 'f"{train_job}-{NODE}-0-1.{train_job}"'),
    ("names", "f\"metadata.annotations['{COMPLETION_INDEX}']\"", "f\"metadata.annotations['other']\""),
    ("draft", "return one_number or one_name", "return one_number"),
    ("draft", "if role is not None and self.trainer is not None else None", "if role is not None else None"),
    ("draft", "or self.name", "and self.name"),
    ("draft", "role.count = nodes", "pass"),
    ("resources", '"requests", "gpu") or units(resources, "limits", "gpu")', '"requests", "gpu")'),
    ("resources", '"limits", "gpu")', '"limits", "nvidia.com/")'),
    ("resources", "return dict(given)", "pass"),
    ("quantities", "ceil(amount", "int(amount"),
    ("template", "if not features.merges_resources:", "if features.merges_resources:"),
    ("template", "and ml_policy is not None:", "and ml_policy:"),
    ("template", '"numProcPerNode": 1,', '"numProcPerNode": 3,'),
    ("policies.torch", 'given != "auto"', 'given == "auto"'),
    ("policies.torch", '_cpus(resources, "requests") or _cpus(resources, "limits")', '_cpus(resources, "requests")'),
    ("policies.torch", "draft.count_nodes()", "1"),
    ("policies.jax", "}:{PORT}", "}"),
    ("policies.xgboost", "nodes * max(1, accelerators(resources_per_node(draft)))", "nodes"),
    ("policies.mpi", "max(nodes - 1, 1) if draft.launcher_is_node else nodes", "nodes"),
    ("policies.mpi", "max(nodes - 1, 1)", "nodes - 1"),
    ("policies.mpi", "if stated != 1 or", "if True or"),
    (
        "policies.mpi",
        "if given is not None:\n        return given",
        "if given is not None and given != 1:\n        return given",
    ),
    ("policies.mpi", "or (draft.launcher_is_node and each.name == LAUNCHER)", ""),
    ("policies.plain", "draft.count_nodes()", "pass"),
    ("trainer", '("image", "command", "args")', '("image", "command")'),
    ("trainer", '("image", "command", "args")', '("image", "args")'),
    ("trainer", "if role.ancestor == TRAINER or (draft.nodes_get_trainer and role.name == NODE):", "if False:"),
    ("pods", "metadata[block] = {**(metadata.get(block) or {}), COMPLETION_INDEX: str(index)}", "pass"),
    ("jobset", '{"parallelism": role.count, "completions": role.count}', '{"completions": 1}'),
]
"""Module, what is in it, and what a rule would be otherwise."""


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector(vector: Any) -> None:
    assert differences(vector, render_v2) == []


class Mutant(SourceFileLoader):
    """Loads a module with one rule changed."""

    change = ("", "")

    # As in CPython; typeshed has the static method of `InspectLoader`.
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        old, new = self.change
        text = bytes(data).decode()
        assert old in text, f"{path} has no {old!r} any more"
        return super().source_to_code(text.replace(old, new, 1).encode(), path)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


@contextmanager
def mutated(module: str, old: str, new: str) -> Iterator[Render]:
    """The prediction with one rule changed, loaded beside the real one."""
    real = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name == PACKAGE or name.startswith(f"{PACKAGE}.")
    }
    name = f"{PACKAGE}.{module}"
    loader = Mutant(name, str(real[name].__file__))
    loader.change = (old, new)
    finder: Any = type("Finder", (), {"find_spec": staticmethod(lambda wanted, *_: _spec(wanted, name, loader))})
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(f"{PACKAGE}.render").render_v2
    finally:
        sys.meta_path.remove(finder)
        for loaded in [each for each in sys.modules if each == PACKAGE or each.startswith(f"{PACKAGE}.")]:
            del sys.modules[loaded]
        sys.modules.update(real)


def _spec(wanted: str, name: str, loader: Mutant) -> Any:
    return importlib.util.spec_from_file_location(name, loader.path, loader=loader) if wanted == name else None


def detected(render: Render) -> bool:
    """Whether some vector separates this prediction from v2."""
    for vector in VECTORS:
        try:
            if differences(vector, render):
                return True
        except Exception:
            return True
    return False


@pytest.mark.parametrize(("module", "old", "new"), MUTATIONS, ids=lambda part: part if "." in str(part)[:9] else None)
def test_no_rule_changes_unseen(module: str, old: str, new: str) -> None:
    with mutated(module, old, new) as render:
        assert detected(render)


def test_an_unchanged_rule_passes() -> None:
    with mutated("names", "29500", "29500") as render:
        assert not detected(render)
