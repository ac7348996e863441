"""Wheel and sdist as users get them: built, checked, installed with pip and with pipx: `python -m e2e.tools.package`.

Prints a line per promise with what was seen, and ends with status 1 if one was not kept. Needs pip's index. A release
takes both from the folder of `--output`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from e2e.harness.environment import environment
from e2e.harness.errors import HarnessError, told
from e2e.support.paths import ROOT

from training_local.run.examples import DEMOS
from training_operator import __version__

TOOLS: Final = ROOT / "constraints-package.txt"
IMAGE: Final = ROOT / "constraints-image.txt"
REPRODUCIBLE: Final = {"SOURCE_DATE_EPOCH": "1763683200"}


def main() -> None:
    """Look at all promises; the exit status is 1 if one is not kept."""
    parser = argparse.ArgumentParser(prog="python -m e2e.tools.package", description=__doc__)
    parser.add_argument("--output", type=Path, help="folder for wheel and sdist once they are known to be good")
    output = parser.parse_args().output
    with told("package", 1):
        tools = environment("package", TOOLS)
        with tempfile.TemporaryDirectory(prefix="package-") as folder:
            _look_at_package(tools, Path(folder))
            if output is not None:
                shutil.copytree(Path(folder, "first"), output, dirs_exist_ok=True)


def _look_at_package(tools: Path, folder: Path) -> None:
    wheel, sdist = _build(tools, folder / "first")
    again, _ = _build(tools, folder / "second")
    if _digest(again) != _digest(wheel):
        raise HarnessError(f"a second build gave another wheel: {_digest(again)} in place of {_digest(wheel)}")
    _seen("built", f"{wheel.name} and {sdist.name}, the same wheel twice, {_digest(wheel)}")

    said = _run(tools / "twine", "check", "--strict", str(wheel), str(sdist))
    if said.count("PASSED") != 2:
        raise HarnessError(said)
    names = zipfile.ZipFile(wheel).namelist()
    if lacking := [demo.file for demo in DEMOS.values() if f"training_local/examples/{demo.file}" not in names]:
        raise HarnessError(f"the wheel lacks examples that `training-operator local demo` runs: {', '.join(lacking)}")
    packages = sorted({name.partition("/")[0] for name in names if ".dist-info" not in name})
    _run(tools / "check-wheel-contents", "--toplevel", ",".join(packages), str(wheel))
    _seen("checked", f"twine check --strict, check-wheel-contents; packages {', '.join(packages)}")

    python = _fresh(folder / "pinned")
    _run(python, *PIP, "--no-deps", "--require-hashes", "--requirement", str(IMAGE))
    _run(python, *PIP, "--no-deps", str(wheel))
    _run(python, "-m", "pip", "check")
    _seen("pip, wheel, pinned", _answers(python.with_name("training-operator")))
    for name, what in (("wheel", wheel), ("sdist", sdist)):
        python = _fresh(folder / name)
        _run(python, *PIP, str(what))
        _seen(f"pip, {name}", _answers(python.with_name("training-operator")))

    home = folder / "pipx"
    variables = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin"), "PIPX_MAN_DIR": str(home / "man")}
    _run(tools / "pipx", "install", "--quiet", f"{wheel}[local]", environ=variables)
    program = home / "bin" / "training-operator"
    if "demo" not in _run(program, "local", "--help"):
        raise HarnessError("what pipx installed with the extra `local` has no `training-operator local`")
    _seen("pipx, wheel with extra local", _answers(program))


PIP: Final = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")


def _build(tools: Path, folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist."""
    _run(tools / "python", "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT), environ=REPRODUCIBLE)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def _fresh(folder: Path) -> Path:
    _run(Path(sys.executable), "-m", "venv", str(folder))
    return folder / "bin" / "python"


def _answers(program: Path) -> str:
    """The command tells its version and v1's flags."""
    version = _run(program, "--version").strip()
    if version != f"training-operator {__version__}":
        raise HarnessError(f"{program.name} --version says {version!r}")
    if "--gang-scheduler-name" not in _run(program, "run", "--help"):
        raise HarnessError("v1's flags are missing in `training-operator run --help`")
    return version


def _run(program: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run a program outside of the sources, so that only what is installed is imported; return what it prints."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | dict(environ or {})
    command = [str(program), *arguments]
    done = subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def _digest(file: Path) -> str:
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def _seen(promise: str, what: str) -> None:
    print(f"{promise}: {what}", flush=True)


if __name__ == "__main__":
    main()
