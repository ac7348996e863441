"""Changes of meaning in the code, one at a time, that some test has to notice: `python -m e2e.tools.mutations`.

Judges the tests, not the code. Ends with status 1 if the tests of a module notice fewer than 95 % of what mypy lets
through. Changes that change nothing stand in `equivalent_mutants.yaml`, each with the reason. mutmut, which makes the
changes, has an environment of its own; `mutation_trials` tries them.
"""

from __future__ import annotations

import argparse
import configparser
import contextlib
import difflib
import hashlib
import importlib.util
import json
import linecache
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml
from e2e.harness.binaries import cache_folder
from e2e.harness.environment import environment
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[2]
TOOLS: Final = ROOT / "constraints-mutation.txt"
EQUIVALENT: Final = Path(__file__).with_name("equivalent_mutants.yaml")
WORKSPACE: Final = ROOT / "build" / "mutations"
REQUEST: Final = Path("trials.json")
"""For `mutation_trials`: mutants by name, with their hash, file and lines; how many processes may try them at a time,
with how many tests, and where it notes what they notice, at once."""
VERDICTS: Final = Path("verdicts.json")
"""Its answer: of each mutant whether a test has noticed it."""
NOTED: Final = cache_folder() / "mutation" / "noticed.txt"
"""Hashes of all mutated functions that a test has ever noticed."""
PROFILE: Final = "mutations"
"""Of hypothesis, in which it does not look for smaller examples."""
ENOUGH: Final = 0.95
SAMPLE: Final = 60
"""Mutants that are tried of each module, unless all are."""
SOURCES: Final = ("api", "controllers", "operator", "local", "migration")
TESTS: Final = ("unit_tests", "e2e")
READ: Final = ("crds", "examples", "docs", "deploy", "pyproject.toml")
"""What tests read."""
UNMUTATED: Final = (r"_log\.\w+\(", r"get_logger\(", r"raise [A-Z]\w*\(")
"""Words for people."""
MYPY: Final = ("mypy", "--output", "json", "--no-warn-unused-ignores", "--disable-error-code", "no-redef",
               "--cache-dir", str(ROOT / "build" / "mutations-mypy"))  # fmt: skip
"""What mypy rejects is noticed, too; the mutants of a constructor declare its attributes again."""


@dataclass(frozen=True, slots=True)
class Module:
    """A part of a package, and the tests that judge it."""

    package: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    slow_tests: tuple[str, ...] = ()
    """Meet only what the others do not notice."""


def _of_operator(*files: str, tests: Sequence[str]) -> Module:
    def of_operator(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"unit_tests/operator/test_{name}.py" for name in names)

    slow_tests = (*of_operator(["adapters", "app", "triggers"]), "unit_tests/simulated/engine")
    return Module("training_operator", files, of_operator(tests), slow_tests)


def _of_controllers(folder: str) -> Module:
    tests, slow_tests = ("unit_tests/controllers",), ("unit_tests/simulated/engine",)
    return Module("training_controllers", (f"{folder}/**/*.py",), tests, slow_tests)


MODULES: Final[Mapping[str, Module]] = {
    "model": _of_controllers("model"),
    "observe": _of_controllers("observe"),
    "frameworks": _of_controllers("frameworks"),
    "gang": _of_controllers("gang"),
    "decide": _of_controllers("decide"),
    "reconcile": Module(
        "training_controllers",
        ("reconcile/**/*.py",),
        ("unit_tests/controllers/reconcile", "unit_tests/simulated/engine"),
    ),
    "queue": _of_operator("queue.py", tests=["queue", "controller"]),
    "leader": _of_operator("leader.py", tests=["leader", "leader_fence"]),
    "cache": _of_operator("cache/*.py", tests=["reflector", "store", "crd_changes", "adapters"]),
    "client": _of_operator("kube/client.py", tests=["client", "flow", "leader_fence", "permissions"]),
    "flow": _of_operator("kube/flow.py", tests=["flow"]),
}


Change = tuple[str, str, str]
"""The name of a function, the lines that went, and those that took their place."""


@dataclass(slots=True)
class Verdict:
    """What came of the mutants of a module."""

    mutants: list[str]
    tried: list[str] = field(default_factory=list)
    """All that mypy does not reject, or a sample of them."""
    equivalent: list[Change] = field(default_factory=list)
    survivors: list[Change] = field(default_factory=list)
    """What no test noticed."""

    @property
    def share(self) -> float:
        """The part that tests notice of what was tried and changes anything."""
        return 1 - len(self.survivors) / max(len(self.tried) - len(self.equivalent), 1)


class Workspace:
    """The project with all source roots in one, and all mutants of some modules beside the code that they change."""

    def __init__(self, modules: Sequence[Module]) -> None:
        from mutmut.configuration import reset_config
        from mutmut.mutation.file_mutation import mutate_file_contents

        shutil.rmtree(WORKSPACE, ignore_errors=True)
        WORKSPACE.mkdir(parents=True)
        packages = [path for root in SOURCES for path in (ROOT / root).iterdir() if (path / "__init__.py").exists()]
        for path in (*packages, *(ROOT / name for name in TESTS)):
            shutil.copytree(path, WORKSPACE / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in READ:
            (WORKSPACE / name).symlink_to(ROOT / name)
        _describe(WORKSPACE)
        parser = configparser.ConfigParser(interpolation=None)
        parser["mutmut"] = {"source_paths": ".", "do_not_mutate_patterns": "\n".join(("", *UNMUTATED))}
        with (WORKSPACE / "setup.cfg").open("w") as file:
            parser.write(file)
        self._packages = sorted({module.package for module in modules})
        self._spans: dict[str, dict[str, range]] = {}
        """Where each mutant and each original stands in its file."""
        with contextlib.chdir(WORKSPACE):
            reset_config()
            for module in modules:
                for path in self._files(module):
                    mutated = mutate_file_contents(str(path), path.read_text())
                    path.write_text(mutated.code)
                    self._spans[str(path)] = {
                        f"{'.'.join(path.with_suffix('').parts)}.{name}": range(span.start, span.end + 1)
                        for name, span in mutated.line_span_by_function_name.items()
                    }

    @staticmethod
    def _files(module: Module) -> list[Path]:
        return sorted(path for pattern in module.files for path in Path(module.package).glob(pattern))

    def names(self, module: Module) -> list[str]:
        """The names of all mutants."""
        with contextlib.chdir(WORKSPACE):
            names = [name for path in self._files(module) for name in self._spans[str(path)]]
        return [name for name in names if name != _original(name)]

    def rejected(self) -> set[str]:
        """The mutants that mypy rejects."""
        packages = (word for package in self._packages for word in ("-p", package))
        command = [sys.executable, "-m", *MYPY, *packages]
        done = subprocess.run(command, cwd=WORKSPACE, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"mypy ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
        errors = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
        return {
            name
            for error in errors
            for name, lines in self._spans.get(error["file"], {}).items()
            if error["line"] in lines
        }

    def noted(self, mutants: Sequence[str]) -> set[str]:
        """The mutants that an earlier run has noticed, and whose function is still the same."""
        noted = set(NOTED.read_text().split()) if NOTED.exists() else set[str]()
        return {mutant for mutant in mutants if self._hash(mutant) in noted}

    def _hash(self, mutant: str) -> str:
        return hashlib.sha256("".join((mutant, *self._lines(mutant))).encode()).hexdigest()

    def noticed(self, tests: Sequence[str], mutants: Sequence[str], **limits: int | None) -> set[str]:
        """The mutants that the tests notice."""
        trials = {mutant: (self._hash(mutant), *self._places(mutant)) for mutant in mutants}
        (WORKSPACE / REQUEST).write_text(json.dumps({"mutants": trials, "notes": str(NOTED), **limits}))
        plugins = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "e2e.tools.mutation_trials")
        options = ("-q", "-s", "--tb=no", f"--hypothesis-profile={PROFILE}")
        command = [sys.executable, "-m", "pytest", *plugins, *options, *tests]
        with (WORKSPACE / "log").open("w") as log:
            done = subprocess.run(command, cwd=WORKSPACE, stdout=log, stderr=log, check=False)
        if done.returncode != 0:
            raise SystemExit(f"pytest ended with {done.returncode}, see {WORKSPACE / 'log'}")
        verdicts = json.loads((WORKSPACE / VERDICTS).read_text())
        return {mutant for mutant in mutants if verdicts[mutant]}

    def change(self, name: str) -> tuple[str, str]:
        """The lines that a mutant takes away, and those that it puts in their place."""
        old, new, changes = self._compared(name)
        removed = [line for first, last, _, _ in changes for line in old[first:last]]
        added = [line for _, _, first, last in changes for line in new[first:last]]
        return " ".join(line.strip() for line in removed), " ".join(line.strip() for line in added)

    def _places(self, mutant: str) -> tuple[str, list[int]]:
        """The file of a mutant, and the lines of the original: the changed one, those before it, those after it."""
        _, _, changes = self._compared(mutant)
        path, span = self._place(_original(mutant))
        changed = span.start + changes[0][0]
        return path, [*range(changed, span.start - 1, -1), *range(changed + 1, span.stop)]

    def _compared(self, mutant: str) -> tuple[list[str], list[str], list[tuple[int, int, int, int]]]:
        """The original, the mutant, and the parts of both in which they differ."""
        plain = mutant.rpartition("__mutmut_")[0].rpartition(".")[2].rpartition("ǁ")[2].removeprefix("x_")
        old, new = (
            [line.replace(name.rpartition(".")[2], plain) for line in self._lines(name)]
            for name in (_original(mutant), mutant)
        )
        changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return old, new, [(one, two, three, four) for tag, one, two, three, four in changes if tag != "equal"]

    def _lines(self, name: str) -> list[str]:
        path, span = self._place(name)
        return linecache.getlines(str(WORKSPACE / path))[span.start - 1 : span.stop - 1]

    def _place(self, name: str) -> tuple[str, range]:
        return next((path, spans[name]) for path, spans in self._spans.items() if name in spans)


def _describe(folder: Path) -> None:
    """Make the packages in a folder an installed one, as far as its version and its commands are asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    information = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    information.mkdir()
    head = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    (information / "METADATA").write_text("".join(f"{key}: {value}\n" for key, value in head.items()))
    groups = configparser.ConfigParser(interpolation=None)
    groups.read_dict(project["entry-points"])
    with (information / "entry_points.txt").open("w") as file:
        groups.write(file)


def _original(mutant: str) -> str:
    return f"{mutant.rpartition('__mutmut_')[0]}__mutmut_orig"


def judge(
    names: Sequence[str], sample: int | None, seed: int, *, resume: bool, **limits: int | None
) -> dict[str, Verdict]:
    """Try mutants of each module, all if there is no `sample`."""
    workspace = Workspace([MODULES[name] for name in names])
    rejected, noticed = workspace.rejected(), set[str]()
    verdicts = {name: Verdict(workspace.names(MODULES[name])) for name in names}
    for verdict in verdicts.values():
        verdict.tried = [each for each in verdict.mutants if each not in rejected]
        if sample is not None:
            verdict.tried = random.Random(seed).sample(verdict.tried, min(sample, len(verdict.tried)))
        noticed |= workspace.noted(verdict.tried) if resume else set()
    for slow in (False, True):
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for name, verdict in verdicts.items():
            tests = MODULES[name].slow_tests if slow else MODULES[name].tests
            groups[tests] += [each for each in verdict.tried if each not in noticed]
        for tests, group in groups.items():
            if tests and group:
                noticed |= workspace.noticed(tests, group, **limits)
    known = {(each["in"], each["was"], each["is"]) for each in yaml.safe_load(EQUIVALENT.read_text()) or ()}
    for verdict in verdicts.values():
        for mutant in (each for each in verdict.tried if each not in noticed):
            function = mutant.partition("__mutmut_")[0].replace("xǁ", "").replace("ǁ", ".").replace(".x_", ".")
            change = (function, *workspace.change(mutant))
            (verdict.equivalent if change in known else verdict.survivors).append(change)
    return verdicts


def main() -> int:
    """Return 0 if enough is noticed in every module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"one of {', '.join(MODULES)}; all by default")
    parser.add_argument("--all", action="store_true", help="try every mutant that mypy does not reject")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of each module (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the sample")
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--nearest", type=int, help="of the tests that call the changed function no more than so many")
    parser.add_argument("--resume", action="store_true", help="leave out what an earlier run has noticed")
    options = parser.parse_args()
    if importlib.util.find_spec("mutmut") is None:
        python = environment("mutation", TOOLS) / "python"
        return subprocess.run([python, "-m", "e2e.tools.mutations", *sys.argv[1:]], cwd=ROOT, check=False).returncode
    console, table = Console(), Table("MODULE", "MUTANTS", "TRIED", "EQUIVALENT", "UNNOTICED", "NOTICED")
    console.print(f"seed {options.seed}")
    enough = True
    names = options.modules or [*MODULES]
    limits = {"children": options.children, "nearest": options.nearest}
    sample = None if options.all else options.sample
    verdicts = judge(names, sample, options.seed, resume=options.resume, **limits)
    for name, verdict in verdicts.items():
        for function, old, new in verdict.survivors:
            console.print(f"{function}\n  - {old}\n  + {new}", markup=False, highlight=False, soft_wrap=True)
        columns = (verdict.mutants, verdict.tried, verdict.equivalent, verdict.survivors)
        table.add_row(name, *(f"{len(each)}" for each in columns), f"{verdict.share:.1%}")
        enough &= verdict.share >= ENOUGH
    console.print(table)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
