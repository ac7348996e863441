"""`python -m e2e.bench.survey`: how long `migrate survey` takes for many job files, against parsing them.

The files are the examples of v1 again and again under other names, one of them broken. The floor is taken in the same
run: reading each file and parsing it with the same library, without doing anything with it. Times are of the processor,
so that other work on the machine counts little; the smallest of some rounds is shown.
"""

from __future__ import annotations

import argparse
import copy
import io
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import count, cycle, islice
from pathlib import Path

import yaml
from e2e.support.v1_examples.expected import examples

from training_api.documents import read
from training_api.yaml_text import dump
from training_migration.convert.conversion import Options
from training_migration.report.fleet import as_html
from training_migration.report.jobs import job_entry, report
from training_migration.report.survey import as_text
from training_migration.survey import rows
from training_migration.targets import Target

ROUNDS = 3
LIMIT = 10.0
"""Seconds for 1,000 files."""


def write_fleet(folder: Path, number: int) -> None:
    """Put so many jobs into files of their own, and a broken one beside them."""
    jobs = [each.job for each in examples(f"n{index}" for index in count())]
    for index, job in enumerate(islice(cycle(jobs), number)):
        own = copy.deepcopy(job)
        own["metadata"]["name"] = f"{job['metadata'].get('name', 'job')}-{index}"
        (folder / f"{index:06}.yaml").write_text(dump([own]))
    (folder / "broken.yaml").write_text("kind: PyTorchJob\nspec: [\n")


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


def best(work: Callable[[], object]) -> float:
    """Seconds of the processor for the quickest of some rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> int:
    """Print both times and their ratio; 1 if 1,000 files would take longer than they may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    number = parser.parse_args().files
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fleet(folder, number)
        floor = best(lambda: parse(folder))
        whole = best(lambda: survey(folder, number))
        print(survey(folder, number))
    print(f"parsing only: {floor:.2f} s   survey: {whole:.2f} s   ratio: {whole / floor:.1f}   files: {number}")
    return 0 if whole * 1000 / number < LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
