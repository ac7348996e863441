"""Changes of meaning in the code, one at a time, that some test has to notice: `python -m e2e.tools.mutations`.

Judges the tests, not the code. Ends with status 1 if the tests of a module notice fewer than 95 % of what mypy lets
through. Changes that change nothing stand in `equivalent_mutants.yaml`, each with the reason. mutmut, which makes and
tries them, has an environment of its own.
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.environment import environment
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[2]
TOOLS: Final = ROOT / "constraints-mutation.txt"
EQUIVALENT: Final = Path(__file__).with_name("equivalent_mutants.yaml")
WORKSPACES: Final = ROOT / "build" / "mutations"
ENOUGH: Final = 0.95
SAMPLE: Final = 60
"""Mutants that are tried of each module, unless all are."""
SOURCES: Final = ("api", "controllers", "operator", "local")
READ: Final = ("unit_tests", "e2e", "crds", "examples", "docs", "deploy")
"""Folders that tests read."""
UNMUTATED: Final = (r"_log\.\w+\(", r"get_logger\(", r"raise [A-Z]\w*\(")
"""Words for people."""
MYPY: Final = ("mypy", "--output", "json", "--no-warn-unused-ignores", "--disable-error-code", "no-redef")
"""What mypy refuses is noticed, too; the mutants of a constructor declare its attributes again."""
UNNOTICED: Final = frozenset({0, 5, 33, 34})
"""Exit codes of pytest, and of mutmut for what no test calls."""


@dataclass(frozen=True, slots=True)
class Module:
    """A part of a package, and the tests that judge it."""

    package: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def _of_operator(*files: str, tests: Sequence[str]) -> Module:
    return Module("training_operator", files, tuple(f"unit_tests/operator/test_{name}.py" for name in tests))


def _of_controllers(folder: str, *tests: str) -> Module:
    return Module("training_controllers", (f"{folder}/**/*.py",), ("unit_tests/controllers", *tests))


MODULES: Final[Mapping[str, Module]] = {
    "model": _of_controllers("model"),
    "observe": _of_controllers("observe"),
    "frameworks": _of_controllers("frameworks"),
    "gang": _of_controllers("gang"),
    "decide": _of_controllers("decide"),
    "reconcile": _of_controllers("reconcile", "unit_tests/simulated/engine"),
    "queue": _of_operator("queue.py", tests=["queue", "controller"]),
    "leader": _of_operator("leader.py", tests=["leader", "leader_fence"]),
    "cache": _of_operator("cache/*.py", tests=["reflector", "store", "crd_changes"]),
    "client": _of_operator("kube/client.py", tests=["client", "leader_fence", "permissions"]),
    "flow": _of_operator("kube/flow.py", tests=["flow"]),
}


@dataclass(slots=True)
class Verdict:
    """What came of the mutants of a module."""

    mutants: int
    tried: int
    by_types: int
    equivalent: int = 0
    survivors: list[tuple[str, str, str]] = field(default_factory=list)
    """What nobody noticed: the name, the lines that went, and those that took their place."""

    @property
    def share(self) -> float:
        """The part that tests notice of the changes that change anything and that mypy lets through."""
        return 1 - len(self.survivors) / max(self.tried - self.by_types - self.equivalent, 1)


class Workspace:
    """The project with all source roots in one: mutmut takes the path of a file for the name of its module."""

    def __init__(self, folder: Path, module: Module) -> None:
        self._folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        packages = [path for root in SOURCES for path in (ROOT / root).iterdir() if (path / "__init__.py").exists()]
        for path in (*packages, *(ROOT / name for name in READ), ROOT / "pyproject.toml"):
            (folder / path.name).symlink_to(path)
        found = (path for pattern in module.files for path in (folder / module.package).glob(pattern))
        self._files = sorted(path.relative_to(folder) for path in found)
        settings: Mapping[str, Sequence[str]] = {
            "source_paths": [module.package],
            "only_mutate": [str(path) for path in self._files],
            "also_copy": [*(path.name for path in packages if path.name != module.package), *READ],
            "do_not_mutate_patterns": UNMUTATED,
            "pytest_add_cli_args_test_selection": module.tests,
            "pytest_add_cli_args": ["-p", "no:cacheprovider", "-p", "no:xdist"],
            "type_check_command": [*MYPY, "-p", module.package],
            "timeout_multiplier": ["5"],
            "timeout_constant": ["5"],
        }
        parser = configparser.ConfigParser(interpolation=None)
        parser["mutmut"] = {
            name: "\n".join(("", *values) if len(values) > 1 else values) for name, values in settings.items()
        }
        with (folder / "setup.cfg").open("w") as file:
            parser.write(file)

    def names(self) -> list[str]:
        """The names of all mutants."""
        from mutmut.configuration import reset_config
        from mutmut.mutation.file_mutation import mutate_file_contents

        with contextlib.chdir(self._folder):
            reset_config()
            return [
                f"{'.'.join(path.with_suffix('').parts)}.{name}"
                for path in self._files
                for name in mutate_file_contents(str(path), path.read_text()).mutant_names
            ]

    def judge(self, names: Sequence[str], children: int) -> dict[str, int]:
        """Try the mutants; returns the exit code of each."""
        command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(children), *names]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        with (self._folder / "log").open("w") as log:
            done = subprocess.run(
                command, cwd=self._folder, env={**os.environ, "PATH": path}, stdout=log, stderr=log, check=False
            )
        if done.returncode != 0:
            raise SystemExit(f"mutmut ended with {done.returncode}, see {self._folder / 'log'}")
        found: dict[str, Any] = {}
        for meta in (self._folder / "mutants").rglob("*.meta"):
            found |= json.loads(meta.read_text())["exit_code_by_key"]
        return {name: found[name] for name in names}

    def change(self, name: str) -> tuple[str, str]:
        """The lines that a mutant takes away, and those that it puts in their place."""
        from mutmut.mutation.diff_apply import get_diff_for_mutant

        with contextlib.chdir(self._folder):
            lines = get_diff_for_mutant(name).splitlines()[2:]
        old, new = (" ".join(line[1:].strip() for line in lines if line.startswith(side)) for side in "-+")
        return old, new


def judge(name: str, sample: int | None, seed: int, children: int) -> Verdict:
    """Try mutants of a module, all if there is no `sample`."""
    workspace = Workspace(WORKSPACES / name.replace("/", "-"), MODULES[name])
    mutants = workspace.names()
    tried = mutants if sample is None else random.Random(seed).sample(mutants, min(sample, len(mutants)))
    codes = workspace.judge(tried, children)
    verdict = Verdict(len(mutants), len(tried), by_types=sum(code == 37 for code in codes.values()))
    known = {(each["in"], each["was"], each["is"]) for each in yaml.safe_load(EQUIVALENT.read_text()) or ()}
    for mutant in (mutant for mutant, code in codes.items() if code in UNNOTICED):
        function = mutant.partition("__mutmut_")[0].replace("xǁ", "").replace("ǁ", ".").replace(".x_", ".")
        old, new = workspace.change(mutant)
        if (function, old, new) in known:
            verdict.equivalent += 1
        else:
            verdict.survivors.append((function, old, new))
    return verdict


def main() -> int:
    """Return 0 if enough is noticed in every module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"one of {', '.join(MODULES)}; all by default")
    parser.add_argument("--all", action="store_true", help="try every mutant: hours")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each module (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the sample")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    options = parser.parse_args()
    if importlib.util.find_spec("mutmut") is None:
        python = environment("mutation", TOOLS) / "python"
        return subprocess.run([python, "-m", "e2e.tools.mutations", *sys.argv[1:]], cwd=ROOT, check=False).returncode
    console, table = Console(), Table("MODULE", "MUTANTS", "TRIED", "BY TYPES", "EQUIVALENT", "UNNOTICED", "NOTICED")
    console.print(f"seed {options.seed}")
    enough = True
    for name in options.modules or MODULES:
        verdict = judge(name, None if options.all else options.sample, options.seed, options.children)
        for function, old, new in verdict.survivors:
            console.print(f"{function}\n  - {old}\n  + {new}", markup=False, highlight=False, soft_wrap=True)
        counts = (verdict.mutants, verdict.tried, verdict.by_types, verdict.equivalent, len(verdict.survivors))
        table.add_row(name, *map(str, counts), f"{verdict.share:.1%}")
        enough &= verdict.share >= ENOUGH
    console.print(table)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
