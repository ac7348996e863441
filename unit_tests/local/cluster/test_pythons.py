"""Which Python pods get, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training_local.cluster.pythons import Pythons, choose
from training_local.errors import BadInput


def fake(folder: Path, **modules: str) -> Path:
    """A virtual environment whose Python answers that it has these modules."""
    program = folder / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{json.dumps([str(program), '3.12.1', modules])}'\n")
    program.chmod(0o755)
    (folder / "pyvenv.cfg").touch()
    return program


def test_the_order_of_those_that_have_the_module(tmp_path: Path) -> None:
    virtual, conda, path = (fake(tmp_path / name, torch="2.9.1") for name in ("virtual", "conda", "path"))
    everything = {"VIRTUAL_ENV": str(tmp_path / "virtual"), "CONDA_PREFIX": str(tmp_path / "conda")}
    everything["PATH"] = str(path.parent)
    for name, expected, source in (
        ("", virtual, "$VIRTUAL_ENV"),
        ("VIRTUAL_ENV", conda, "$CONDA_PREFIX"),
        ("CONDA_PREFIX", path, "python3 on the path"),
    ):
        everything.pop(name, None)
        chosen = choose(None, ["torch"], everything)
        assert (chosen.path, chosen.source) == (expected, source)
    assert chosen.sentence == f"Pods run {path} (python3 on the path): Python 3.12.1 with torch 2.9.1."
    assert chosen.own_packages


def test_one_with_the_module_comes_before_one_without(tmp_path: Path) -> None:
    fake(tmp_path / "virtual")
    path = fake(tmp_path / "path", jax="0.10.2")
    assert choose(None, ["jax"], {"VIRTUAL_ENV": str(tmp_path / "virtual"), "PATH": str(path.parent)}).path == path


def test_where_none_has_the_module_the_first_is_taken(tmp_path: Path) -> None:
    first = fake(tmp_path / "virtual")
    chosen = choose(None, ["no_such_module"], {"VIRTUAL_ENV": str(tmp_path / "virtual"), "PATH": "/nowhere"})
    assert chosen.path == first
    assert chosen.sentence.endswith("with no framework.")


def test_what_is_named_is_taken_as_it_is(tmp_path: Path) -> None:
    option, named, other = (fake(tmp_path / name) for name in ("option", "named", "other"))
    environment = {"VIRTUAL_ENV": str(other.parent.parent)}
    assert choose(tmp_path / "option", ["jax"], environment, str(named)).path == option
    chosen = choose(None, ["jax"], environment, str(tmp_path / "named"))
    assert (chosen.path, chosen.source) == (named, "the job's annotation")
    with pytest.raises(BadInput, match="there is no such file"):
        choose(Path("/nonexistent/python"), ["jax"], environment)


def test_a_variable_that_has_outlived_its_folder_is_passed_over(tmp_path: Path) -> None:
    path = fake(tmp_path / "path", jax="0.10.2")
    assert choose(None, ["jax"], {"VIRTUAL_ENV": str(tmp_path / "gone"), "PATH": str(path.parent)}).path == path


def test_behind_the_shim_of_a_version_manager_is_the_interpreter(tmp_path: Path) -> None:
    real = fake(tmp_path / "versions", jax="0.10.2")
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    shim.chmod(0o755)
    assert choose(None, ["jax"], {"PATH": str(shim.parent)}).path == real


def test_each_kind_gets_a_python_with_its_framework(tmp_path: Path) -> None:
    mine, other = fake(tmp_path / "mine", jax="0.10.2"), fake(tmp_path / "other", torch="2.9.1")
    environment = {"VIRTUAL_ENV": str(mine.parent.parent), "CONDA_PREFIX": str(other.parent.parent), "PATH": "/nowhere"}
    pythons = Pythons(None, environment)
    assert pythons.default.path == mine
    assert pythons.choice("JAXJob") == (mine, "", False)
    described = f"{other} ($CONDA_PREFIX): Python 3.12.1 with torch 2.9.1"
    assert pythons.choice("PyTorchJob") == (other, f"Pods of a PyTorchJob run {described}", False)
    assert pythons.choice("") == (mine, "", False)
    assert f"Those of PyTorchJob run {described}." in pythons.sentences()
    everywhere = Pythons(mine, environment).choice("PyTorchJob")
    lacking = f"No module torch, which a PyTorchJob needs, in {mine}: use --python for one that has it"
    assert everywhere == (mine, lacking, True)
