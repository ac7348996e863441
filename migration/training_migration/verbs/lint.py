"""`training-operator migrate lint`: finds obstacles of a move to Trainer v2, without running anything."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from training_api.documents import Document, Unreadable, files, is_special, read, read_stream, read_text
from training_api.yaml_text import json_value
from training_migration import exits
from training_migration.choices import LINT_FORMATS
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.findings import Severity
from training_migration.lint import fleet
from training_migration.lint.entry_point import NOTHING, EntryPoint, of_configuration, of_dockerfile
from training_migration.lint.fleet import Fleet, Text, placed
from training_migration.lint.scripts.script import Language, language_of
from training_migration.lint.suppression import UnknownBaseline, baseline, read_baseline, without
from training_migration.targets import Target
from training_migration.verbs.output import write
from training_operator.lazy_commands import load

STANDARD_INPUT: Final = "-"
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_LARGEST: Final = 2_000_000
"""Bytes of a file in a folder that is looked through; data are larger than code."""


def lint(
    *,
    paths: tuple[str, ...],
    target: Target,
    scripts: tuple[Path, ...],
    contexts: tuple[Path, ...],
    image_config: Path | None,
    scans: tuple[Path, ...],
    after_convert: bool,
    known: Path | None,
    write_baseline: Path | None,
    style: str,
    output: Path | None,
    fail_on: Severity | None,
) -> Exit:
    """Check v1 jobs, TrainJobs, runtimes and scripts for what prevents or changes the training on Trainer v2."""
    documents, given, texts = _inputs(paths)
    of_context = [text for folder in contexts for text in _code(folder)]
    all_scripts = [*given, *map(_text, scripts), *of_context]
    around = [text for folder in scans for text in _texts(folder)]
    around_objects = list(read(map(str, scans), io.StringIO()))
    entry = _entry(of_context, image_config)
    given_fleet = Fleet(documents, Options(target), all_scripts, around, around_objects, entry, after_convert)
    outcome = fleet.lint(given_fleet)
    found = placed(outcome.findings, {**texts, **dict(all_scripts), **dict(around)})
    if write_baseline is not None:
        write(baseline(found), write_baseline)
    left = found if known is None else without(found, _baseline(known))
    write(load(LINT_FORMATS[style])(left), output)
    for problem in outcome.problems:
        click.echo(problem, err=True)
    if not (outcome.jobs or all_scripts or around or outcome.problems):
        click.echo(f"No job of v1, runtime or TrainJob among {outcome.others} objects.", err=True)
    looked_at = outcome.jobs or outcome.others or all_scripts or around or not outcome.problems
    examined = [exits.of_findings(left, fail_on)] if looked_at else []
    return exits.final(examined, (Exit.USAGE for _ in outcome.problems), fail_on)


def _inputs(paths: Sequence[str]) -> tuple[list[Document], list[Text], dict[str, str]]:
    """Objects, scripts, and the texts of the files with objects."""
    scripts = [path for path in paths if path != STANDARD_INPUT and _is_script(path)]
    others = [path for path in paths if path not in scripts]
    typed = _typed() if STANDARD_INPUT in others else ""
    documents = list(read(others, io.StringIO(typed)))
    sources = {path: path for path in files(others) if path != STANDARD_INPUT}
    texts = {path: text for path in sources if (text := _readable(Path(path))) is not None}
    return documents, [_text(Path(path)) for path in scripts], {**texts, STANDARD_INPUT: typed}


def _is_script(path: str) -> bool:
    return Path(path).is_file() and language_of(path, "") is not Language.TEXT


def _text(path: Path) -> Text:
    if (text := _readable(path)) is None:
        raise Failure(f"{path}: cannot be read as text.", Exit.USAGE)
    return str(path), text


def _readable(path: Path) -> str | None:
    """The text of a file; None for one that is none, or is too large to be written by users."""
    try:
        return read_text(path, _LARGEST)
    except Unreadable:
        return None


def _typed() -> str:
    try:
        return read_stream(sys.stdin)
    except Unreadable as unreadable:
        raise Failure(f"standard input: {unreadable}", Exit.USAGE) from None


def _texts(folder: Path) -> Iterator[Text]:
    """The files of text below a folder, but for hidden folders and those that tools fill."""
    for where, folders, names in os.walk(folder):
        # Files of CI systems lie in hidden folders of these names.
        folders[:] = sorted(
            each for each in folders if each not in _SKIPPED and (not each.startswith(".") or each in _OF_CI)
        )
        for name in sorted(names):
            path = Path(where, name)
            if not is_special(path) and (text := _readable(path)) is not None and "\0" not in text[:1000]:
                yield str(path), text


_OF_CI: Final = frozenset({".github", ".gitlab", ".circleci", ".tekton", ".buildkite"})


def _code(folder: Path) -> Iterator[Text]:
    """The scripts and Dockerfiles of an image's folder."""
    for path, text in _texts(folder):
        if language_of(path, text) is not Language.TEXT:
            yield path, text


def _entry(context: Sequence[Text], image_config: Path | None) -> EntryPoint:
    """What the image starts: by its configuration, else by the only Dockerfile of its folder."""
    if image_config is not None:
        try:
            return of_configuration(json_value(_text(image_config)[1]))
        except ValueError:
            raise Failure(f"{image_config}: is not JSON.", Exit.USAGE) from None
    dockerfiles = [text for path, text in context if language_of(path, text) is Language.DOCKERFILE]
    return of_dockerfile(dockerfiles[0]) if len(dockerfiles) == 1 else NOTHING


def _baseline(path: Path) -> dict[tuple[str, str, str, str], int]:
    try:
        return dict(read_baseline(_text(path)[1]))
    except UnknownBaseline as error:
        raise Failure(f"{path}: {error}.", Exit.USAGE) from None
