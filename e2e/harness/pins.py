"""Pin other minor versions: `python -m e2e.harness.pins v1.33.0 trainer@v2.2.1` writes a go.mod and a go.sum for each.

A version without a name is one of Kubernetes, whose own go.mod takes its libraries from folders beside it, which a Go
module has not; they are pinned to the release of the same number. The others are in `OTHERS`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from e2e.harness.binaries import JOBSET, KUEUE, TRAINER, Module, kubernetes

OTHERS = {module.name: module for module in (KUEUE, JOBSET, TRAINER)}


def pin(module: Module, version: str) -> None:
    """Write both files of `module`, with checksums of what its programs are compiled from and of nothing else."""
    module.folder.mkdir(exist_ok=True)
    for old in module.folder.glob("go.*"):
        old.unlink()
    _go(module.folder, "mod", "init", f"training-operator.test/{module.name}")
    stored = json.loads(_go(module.folder, "mod", "download", "-json", f"{module.main}@{version}"))["GoMod"]
    theirs = json.loads(_go(module.folder, "mod", "edit", "-json", stored))
    staged = [r["Old"]["Path"] for r in theirs["Replace"] or () if r["New"]["Path"].startswith("./staging/")]
    library = version.replace("v1.", "v0.", 1)
    # Theirs, but tools need 1.24 (all of these numbers have as many digits).
    edits = [f"-go={max(theirs['Go'], '1.24.0')}", *(f"-replace={name}={name}@{library}" for name in staged)]
    edits += [f"-tool={package}" for package in module.programs.values()]
    _go(module.folder, "mod", "edit", f"-require={module.main}@{version}", *edits)
    _go(module.folder, "list", "-mod=mod", "-deps", *module.programs.values())


def _go(folder: Path, *arguments: str) -> str:
    return subprocess.run(("go", *arguments), cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        name, _, exactly = wanted.rpartition("@")
        minor = exactly.removeprefix("v").rpartition(".")[0]
        # Not `of_minor`, which asks for the version that is pinned already.
        pin(replace(OTHERS[name], name=f"{name}-{minor}") if name else kubernetes(minor), exactly)
