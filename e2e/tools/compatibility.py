"""The tests with other versions of what is around us: `python -m e2e.tools.compatibility [SUBJECT[=VERSION] ...]`.

Builds and installs what it needs (hours, without arguments), and keeps what became of each run in `RECORD`, from which
`make pages` makes the tables of `docs/compatibility.md`. Pythons are taken from the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from e2e.harness.binaries import KUEUE, MODULES, TRAINER, Module, cache_folder, kubernetes, of_minor, programs
from e2e.harness.errors import HarnessError
from e2e.harness.recordings import write
from e2e.migration.test_releases import RELEASES
from e2e.support.documentation.compatibility import RECORD, recorded
from e2e.support.paths import ROOT

LIVES, MODELS, REQUESTS = (f"e2e/clients/test_{name}.py" for name in ("sdk", "sdk_models", "sdk_requests"))
OLD: Final = ("-k", "not (JAXJob or queue or round_trip)")
"""Without what came with 1.9: JAXJobs, queues, `managedBy`, and the settings of `create_job` in REQUESTS."""
SDKS: Final = {"1.8.1": (LIVES, MODELS, *OLD), "1.9.4": (LIVES, MODELS, REQUESTS)}
MPI: Final = "unit_tests/controllers/frameworks/test_mpi.py::test_an_implementation_is_told_by_its_variables"
IMPLEMENTATIONS: Final = ("Open MPI 4.1", "Open MPI 5", "Intel MPI")
CONVERSIONS: Final = "e2e/migration/test_releases.py::test_a_release_admits_what_is_converted_for_it"
PREDICTIONS: Final = ("-n", "0", "e2e/migration/test_verify.py", "-k", "built_as_predicted")


@dataclass(frozen=True, slots=True)
class Ready:
    """A version that tests can run with."""

    exact: str
    environ: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class Row:
    """One version of something, and the tests that are run with it."""

    subject: str
    version: str
    prepare: Callable[[str], Ready]
    """Of the version; raises HarnessError where it cannot be had."""
    tests: Mapping[str, Sequence[str]]
    """What pytest is given, by what it shows."""


def rows() -> Iterator[Row]:
    """Every version, in the order of the page."""
    minors = _minors("kubernetes", KUBERNETES)
    commands = {"kubectl": ["e2e/clients/test_kubectl.py"]}
    for minor in minors:
        server = {"CRDs and admission": ["e2e/api"], "conformance": ["e2e/conformance/test_conformance.py"]}
        yield Row("Kubernetes", minor, _kubernetes, server | commands)
    for minor in minors:
        yield Row("kubectl", minor, _kubectl, commands)
    for minor in ("3.11", "3.12", "3.13", "3.14"):
        yield Row("Python", minor, _python, {"unit tests": UNIT_TESTS})
    for version, sdk in SDKS.items():
        yield Row("SDK kubeflow-training", version, _sdk, {"SDK": sdk})
    for minor in _minors(KUEUE.name, _minor(KUEUE)):
        exact = of_minor(KUEUE, minor).version
        yield Row("Kueue", minor, _given(exact, "KUEUE"), {"queues": ["e2e/integrations/kueue"]})
    built = _minors(TRAINER.name, _minor(TRAINER))
    for target, exact in RELEASES.items():
        controllers = {"controllers": PREDICTIONS} if target in built else {}
        prepare = _given(exact, *(["TRAINER"] if target in built else []))
        yield Row("Trainer v2", target, prepare, {"CRDs": [f"{CONVERSIONS}[{target}]"], **controllers})
    for name in IMPLEMENTATIONS:
        yield Row("MPI", name, Ready, {"environment": [f"{MPI}[{name}]"]})


def _minors(name: str, usual: str) -> list[str]:
    """The minor versions of a program that are pinned, the oldest first."""
    folders = (each.name.removeprefix(f"{name}-") for each in MODULES.glob(f"{name}-*"))
    return sorted({usual, *(each for each in folders if re.fullmatch(r"\d+\.\d+", each))})


def _minor(module: Module) -> str:
    return module.version.removeprefix("v").rpartition(".")[0]


KUBERNETES: Final = "1.34"
ALL_KINDS: Final = {"FRESH_SEED": "1"}
"""What `make weekly` sets, so that no kind of job is left out."""
UNIT_TESTS: Final = ("-n", "0", "unit_tests/api", "unit_tests/controllers", "unit_tests/operator")


def _kubernetes(minor: str) -> Ready:
    programs((kubernetes(minor),))
    return Ready(kubernetes(minor).version, {"TRAINING_E2E_KUBERNETES": minor, **ALL_KINDS})


def _kubectl(minor: str) -> Ready:
    module = kubernetes(minor)
    # Alone: the rest takes ten times as long to build.
    alone = replace(module, programs={f"kubectl-{minor}": module.programs["kubectl"]})
    return Ready(module.version, {"TRAINING_E2E_KUBECTL": str(programs((alone,))[f"kubectl-{minor}"]), **ALL_KINDS})


def _python(minor: str) -> Ready:
    if (found := shutil.which(f"python{minor}")) is None:
        raise HarnessError(f"python{minor} is not on the path")
    folder = cache_folder() / f"python-{minor}"
    _run("make", f"{folder}/.installed", f"ENVIRONMENT={folder}", f"PYTHON={found}")
    python = str(folder / "bin" / "python")
    return Ready(_run(python, "-c", "import platform; print(platform.python_version())"), python=python)


def _sdk(version: str) -> Ready:
    folder = cache_folder() / f"sdk-{version}"
    python = str(folder / "bin" / "python")
    if not (folder / "complete").exists():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
        # The bound is that of 1.9.4; 1.8.1 has none, and cannot read with later ones what is stored.
        _run(*pip, "install", f"kubeflow-training=={version}", "kubernetes<36")
        (folder / "complete").touch()
    return Ready(version, {"TRAINING_E2E_CLIENTS": python})


def _given(exact: str, *of: str) -> Callable[[str], Ready]:
    """Ready as it is, the tests told to take this version of the programs."""
    return lambda version: Ready(exact, {f"TRAINING_E2E_{program}": version for program in of})


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


def _tested(ready: Ready, arguments: Sequence[str]) -> dict[str, int]:
    """How many tests passed and failed."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [ready.python, "-m", "pytest", "-q", f"--junitxml={report.name}", *arguments]
        subprocess.run(command, cwd=ROOT, env={**os.environ, **ready.environ}, check=False)
        text = Path(report.name).read_text()
    suite = dict(ElementTree.fromstring(text)[0].items()) if text else {"errors": "1"}
    tests, skipped, *bad = (int(suite.get(name, 0)) for name in ("tests", "skipped", "failures", "errors"))
    return {"failed": sum(bad), "passed": max(tests - skipped - sum(bad), 0)}


def main(chosen: Sequence[str]) -> int:
    """Return 1 if a test failed, or something could not be had."""
    known = list(rows())
    names = {name for row in known for name in (row.subject, f"{row.subject}={row.version}")}
    if unknown := {*chosen} - names:
        print(f"there is no {', '.join(unknown)}; there are {', '.join(sorted(names))}", file=sys.stderr)
        return 2
    wanted = [row for row in known if not chosen or {row.subject, f"{row.subject}={row.version}"} & {*chosen}]
    bad = [row for row in wanted if not _run_row(row, known)]
    return 1 if bad else 0


def _run_row(row: Row, known: Sequence[Row]) -> bool:
    """Run and record the tests of a row; whether all of them passed."""
    try:
        ready = row.prepare(row.version)
    except HarnessError as error:
        print(f"{row.subject} {row.version}: {error}", file=sys.stderr)
        return False
    failed = 0
    place = {(each.subject, each.version): index for index, each in enumerate(known)}
    for what, arguments in row.tests.items():
        ran = {"subject": row.subject, "version": str(row.version), "what": what}
        count = _tested(ready, arguments)
        seen = {**ran, "exact": ready.exact, "date": f"{datetime.now(UTC):%Y-%m-%d}", **count}
        print(seen, flush=True)
        failed += count["failed"]
        others = [each for each in recorded() if not ran.items() <= each.items()]
        write(RECORD, sorted([*others, seen], key=lambda each: place.get((each["subject"], each["version"]), -1)), 1)
    return failed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
