"""Every verb of `migrate` that reads objects, given mutated ones: it ends with a code of its own, never a traceback."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml
from click.testing import CliRunner
from e2e.support.at_most import at_most
from e2e.support.mutated import mutated
from e2e.support.paths import ROOT

from training_migration.cli import migrate
from training_migration.exits import Exit, Failure
from training_migration.survey import REPORT_IT
from training_migration.targets import Target
from training_migration.verbs.place import plan_of
from training_migration.verify.subjects import subjects

Json = dict[str, Any]
FOLDERS: Final = ("e2e/support/v1_examples", "examples", "e2e/conformance/cases", "unit_tests/migration")


@dataclass(frozen=True)
class Trouble:
    """What a verb should not have done."""

    where: str
    """The innermost place in our code and what was raised there, or that it took too long."""
    verb: str
    text: str
    """What it was given."""


def texts() -> list[list[Json]]:
    """The objects of the repository's own files with jobs, those of one file together."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.yaml"))
    documents = (yaml.load_all(path.read_text(), yaml.CSafeLoader) for path in paths)
    read = [[each for each in found if isinstance(each, dict)] for found in documents]
    return [objects for objects in read if any("kind" in each and "apiVersion" in each for each in objects)]


def results(folder: Path) -> list[Json]:
    """What verbs write as JSON, for those that read it."""
    jobs = str(ROOT / "e2e/conformance/cases")
    made = []
    for verb in ("survey", "lint", "diff"):
        path = folder / f"{verb}.json"
        given = f"{ROOT}/examples/pytorch/pytorchjob.yaml" if verb == "diff" else jobs
        CliRunner().invoke(migrate, [verb, given, *_TARGET, "--format", "json", "-o", str(path)])
        made.append(json.loads(path.read_text()))
    made[0]["jobs"], made[1]["findings"] = made[0]["jobs"][:3], made[1]["findings"][:3]
    return [*made, *RESULTS, {"schema": "migrate.compare/1", "runs": {"v1": V1_RUN, "v2": V2_RUN}, "rows": []}]


def fuzz(seed: int, count: int, folder: Path, verbs: Sequence[str] = ()) -> Iterator[Trouble]:
    """Give so many mutated files to a verb each, and yield what went wrong."""
    random = Random(seed)
    objects, written = texts(), results(folder)
    names = verbs or (*VERBS, *READERS)
    for number in range(count):
        name = names[number % len(names)]
        if name in VERBS:
            given = [mutated(each, random) if random.random() < 0.7 else each for each in random.choice(objects)]
            text = _written(mutated(given, random) if random.random() < 0.1 else given, random)
        else:
            text = json.dumps(mutated(random.choice(written), random))
        path = folder / "given.yaml"
        path.write_text(text, encoding="utf-8")
        if trouble := _tried(name, path, text):
            yield trouble


def _written(objects: Any, random: Random) -> str:
    """As JSON or YAML; keys that share a spelling, and what is no text, stay as they are."""
    listed = objects if isinstance(objects, list) else [objects]
    if random.random() < 0.5:
        return "\n".join(map(json.dumps, listed))
    return yaml.dump_all(listed, Dumper=yaml.CSafeDumper, allow_unicode=True)


MOST_SECONDS: Final = 2.0
"""Of the processor, for one verb."""


def _tried(name: str, path: Path, text: str) -> Trouble | None:
    try:
        with at_most(MOST_SECONDS):
            (VERBS | READERS)[name](path)
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "training_" in each.filename]
        last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
        inside = last.filename.partition("/training_")[2] or last.filename
        return Trouble(f"{inside}:{last.lineno} {type(error).__name__}: {str(error)[:100]}", name, text)
    return None


def _called(*arguments: str) -> Callable[[Path], None]:
    def call(path: Path) -> None:
        given = [str(path) if each == "FILE" else each for each in arguments]
        result = CliRunner().invoke(migrate, given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if result.exit_code not in set(Exit):
            raise AssertionError(f"exit status {result.exit_code}")
        if REPORT_IT in result.output:
            raise AssertionError(result.output.partition(REPORT_IT)[0][-200:])
        said = result.stderr.strip()
        if result.exit_code == Exit.USAGE and not said and arguments[0] != "survey":
            raise AssertionError("status 2 without a word")

    return call


def _planned(path: Path) -> None:
    """What `run` and `probe` do before they start anything."""
    try:
        plan_of((str(path),), Target.V2_3, "both")
    except Failure:
        return


def _subjects(path: Path) -> None:
    """What `verify` does before it asks a cluster."""
    try:
        subjects([str(path)], Target.V2_3)
    except Failure:
        return


_TARGET: Final = ("--target", "2.3")
VERBS: Final[dict[str, Callable[[Path], None]]] = {
    "convert": _called("convert", "FILE", *_TARGET),
    "convert (2.1)": _called(
        "convert", "FILE", "--target", "2.1", "--asymmetric", "split", "--stock", "--notes", "none"
    ),
    "lint": _called("lint", "FILE", *_TARGET),
    "lint (sarif)": _called("lint", "FILE", "--target", "2.1", "--format", "sarif"),
    "survey": _called("survey", "FILE", *_TARGET),
    "survey (html)": _called("survey", "FILE", *_TARGET, "--format", "html"),
    "render": _called("render", "FILE", *_TARGET),
    "render (both, processes)": _called("render", "FILE", *_TARGET, "--side", "both", "--as-process"),
    "diff": _called("diff", "FILE", *_TARGET),
    "diff (both)": _called("diff", "FILE", "FILE", *_TARGET, "--format", "html"),
    "run": _planned,
    "verify": _subjects,
}


def _merged(path: Path) -> None:
    _called("report", "FILE", "--format", random_format(path))(path)


def random_format(path: Path) -> str:
    """One of the formats, always the same for the same content."""
    return ("markdown", "html", "junit")[len(path.read_text()) % 3]


def _compared(path: Path) -> None:
    """The same run on both sides, the mutated one first."""
    fine = path.with_name("v2.json")
    fine.write_text(json.dumps(V2_RUN))
    content = json.loads(path.read_text())
    runs = content.get("runs") if isinstance(content, dict) else None
    path.write_text(json.dumps(runs.get("v1") if isinstance(runs, dict) else content))
    _called("compare", "FILE", str(fine), "--tolerance", "0.1", "--format", "html")(path)


READERS: Final[dict[str, Callable[[Path], None]]] = {"report": _merged, "compare": _compared}
"""Verbs that read what others have written."""

V1_RUN: Final[Json] = {
    "schema": "migrate.run/1",
    "side": "v1",
    "ref": {"kind": "PyTorchJob", "namespace": "team", "name": "mnist"},
    "end": "succeeded",
    "pods": [
        {"role": "worker", "index": at, "exit_code": 0, "restarts": 0, "environment": {"A": "b"}} for at in range(2)
    ],
    "processes": [
        {"role": "worker", "index": at, "rank": at, "world_size": 2, "local_rank": 0, "peers": [0, 1]}
        for at in range(2)
    ],
    "metrics": [{"name": "loss", "rank": 0, "points": [[1, 0.9], [2, 0.5], [3, None]]}],
    "duration": 3.5,
}
V2_RUN: Final[Json] = {**V1_RUN, "side": "v2", "ref": {**V1_RUN["ref"], "kind": "TrainJob"}}
RESULTS: Final[tuple[Json, ...]] = (
    {
        "schema": "migrate.probe/1",
        "sides": [
            {"side": "v1", "end": "succeeded", "reasons": [], "pods": [
                {"role": "worker", "index": 0, "ok": True, "why": "", "rank": 0, "worldSize": 2, "coordinator": "a:1"},
                {"role": "worker", "index": 1, "ok": False, "why": "alone", "rank": None, "coordinator": None},
            ]},
            {"side": "v2", "end": "timed-out", "reasons": ["it took too long"], "pods": []},
        ],
    },
    {
        "schema": "migrate.verify/1", "target": "2.3", "summary": {"equal": 1, "different": 1},
        "jobs": [
            {"ref": {"kind": "JAXJob", "name": "a"}, "outcome": "equal", "message": "", "objects": 9,
             "differences": []},
            {"ref": {"kind": "JAXJob", "name": "b"}, "outcome": "different", "message": "", "objects": 9,
             "differences": [{"object": "Job x", "path": "spec", "predicted": "1", "built": "2"}]},
        ],
    },
)  # fmt: skip
