"""Pairs of jobs and their conversions for people to read: `golden/NAME/{v1.yaml,v2.yaml,notes.txt}`.

`options.yaml` beside them has the options that are not the default. Written anew, to be read before it is committed:
`python -m unit_tests.migration.golden_corpus`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from training_migration.choices import NoteStyle
from training_migration.convert import convert
from training_migration.convert.conversion import Conversion, Options
from training_migration.convert.writer import notes_text, yaml_text
from training_migration.targets import Target
from training_migration.v1_job import v1_job

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def conversion(name: str) -> Conversion:
    """What becomes of one of the jobs."""
    folder = FOLDER / name
    job = v1_job(yaml.load((folder / "v1.yaml").read_text(), yaml.CSafeLoader))
    given: dict[str, Any] = {}
    if (folder / "options.yaml").exists():
        given = yaml.load((folder / "options.yaml").read_text(), yaml.CSafeLoader)
    target = Target(given.pop("target", Target.V2_3))
    native = given.pop("sidecars", "plain") == "native"
    return convert(job, Options(target, native_sidecars=native, **given))


def files(name: str) -> dict[str, str]:
    """The files that are made, with their contents; of a job that is rejected there is no v2.yaml."""
    result = conversion(name)
    made = {"notes.txt": notes_text(result)}
    if not result.rejected:
        made["v2.yaml"] = yaml_text(result, NoteStyle.NONE)
    return made


def record() -> None:
    """Write them all."""
    for name in NAMES:
        (FOLDER / name / "v2.yaml").unlink(missing_ok=True)
        for file, text in files(name).items():
            (FOLDER / name / file).write_text(text)


if __name__ == "__main__":
    record()
