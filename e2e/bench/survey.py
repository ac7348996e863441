"""`python -m e2e.bench.survey`: how long `migrate survey` and `convert` take for many job files, against parsing them.

The files are the examples of v1 again and again under other names, with images, arguments, numbers of replicas and
resources of their own, one of them broken. The floor is taken in the same run: reading each file and parsing it with
the same library, without doing anything with it. Times of the processors count other work on the machine little; what
is waited for is shown beside them, because large fleets are converted by several processes. The smallest of some
rounds is shown.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml
from click.testing import CliRunner
from e2e.support.v1_examples.expected import examples

from training_api.documents import read
from training_api.registry import KINDS
from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.convert.conversion import Options
from training_migration.report.fleet import as_html
from training_migration.report.jobs import job_entry, report
from training_migration.report.survey import as_text
from training_migration.survey import rows
from training_migration.targets import Target

ROUNDS = 3
LIMIT = 5.0
"""Seconds for 1,000 files on a machine at rest."""


def write_fleet(folder: Path, number: int) -> None:
    """Put so many jobs into files of their own, and a broken one beside them."""
    jobs = [each.job for each in examples(f"n{index}" for index in count())]
    for index, job in enumerate(islice(cycle(jobs), number)):
        own = json.loads(json.dumps(job))  # nothing in it is shared
        own["metadata"]["name"] = f"{job['metadata'].get('name', 'job')}-{index}"
        vary(own, Random(index))
        (folder / f"{index:06}.yaml").write_text(dump([own]))
    (folder / "broken.yaml").write_text("kind: PyTorchJob\nspec: [\n")


def vary(job: dict[str, Any], rng: Random) -> None:
    """Give a job what differs from job to job of a fleet."""
    for name, replica in job["spec"][KINDS[job["kind"]].replica_field].items():
        if name == "Worker":
            replica["replicas"] = rng.randint(1, 8)
        main = replica["template"]["spec"]["containers"][0]
        main["image"] = f"registry.example.com/team-{rng.randint(1, 20)}/train:{rng.randint(1, 99)}"
        main["args"] = [*main.get("args", []), f"--learning-rate={rng.random():.4f}"]
        main["resources"] = {"limits": {"cpu": str(rng.randint(1, 16)), "memory": f"{rng.randint(1, 64)}Gi"}}


def convert(folder: Path, number: int, *options: str) -> None:
    """Convert them to another folder, as the command does."""
    with tempfile.TemporaryDirectory() as output:
        arguments = ["convert", str(folder), "-o", output, "--target", "2.3", "--fail-on", "never", *options]
        result = CliRunner().invoke(migrate, arguments)
        assert result.exit_code == 0, result.stderr
        assert len(result.stderr.splitlines()) == number + 1


def parse(folder: Path) -> None:
    """The floor."""
    for path in sorted(folder.glob("*.yaml")):
        if path.stem != "broken":
            yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def survey(folder: Path, number: int) -> str:
    """The whole survey with its page; returns the sentence that sums it up."""
    ignored: Counter[str] = Counter()
    found = list(rows(read([str(folder)], io.StringIO()), Options(Target.V2_3), ignored))
    content = report(Target.V2_3.value, "", [job_entry(row) for row in found], ignored)
    assert content["summary"]["broken"] == 1
    assert len(content["jobs"]) == number + 1
    as_html(content)
    return as_text(content, terminal=False).rpartition("\n")[2]


class Taken(NamedTuple):
    """What the quickest of some rounds took, in seconds."""

    waited: float
    processors: float

    def __str__(self) -> str:
        return f"{self.waited:.2f} s ({self.processors:.2f} of processors)"


def best(work: Callable[[], object]) -> Taken:
    """The times of the quickest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = _now()
        work()
        times.append(Taken(*(after - before for before, after in zip(begin, _now(), strict=True))))
    return Taken(min(each.waited for each in times), min(each.processors for each in times))


def _now() -> tuple[float, float]:
    """The time of day, and that of the processors for this process and those that it has awaited."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


def main() -> int:
    """Print the times and their ratios; 1 if 1,000 files would take longer than they may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    number = parser.parse_args().files
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fleet(folder, number)
        floor = best(lambda: parse(folder))
        whole = best(lambda: survey(folder, number))
        converted = best(lambda: convert(folder, number, "--no-diffs"))
        compared = best(lambda: convert(folder, number))
        print(survey(folder, number))
    for what, taken in zip(
        ("parsing", "survey", "convert --no-diffs", "convert"), (floor, whole, converted, compared), strict=True
    ):
        print(f"{what}: {taken}, {taken.processors / floor.processors:.1f} times the parsing")
    return 0 if max(whole.waited, compared.waited) * 1000 / number < LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
