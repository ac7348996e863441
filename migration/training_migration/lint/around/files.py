"""Files that may name v1's jobs, pods, metrics: by their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from training_api.registry import KINDS
from training_migration.findings import Finding
from training_migration.lint.checks import Checks, Spot
from training_migration.lint.scripts.lint import lint_script
from training_migration.lint.scripts.script import Language, Line, Script, language_of, numbered


@dataclass(frozen=True)
class File:
    """One file of a folder that is looked through."""

    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Its lines; those of scripts and YAML without comments."""
        language = language_of(self.path, self.text)
        if self.path.endswith((".yaml", ".yml")):
            language = Language.SHELL
        if language is Language.TEXT:
            return numbered(enumerate(self.text.splitlines(), 1))
        return Script(self.path, self.text, language).commands


FILES: Final[Checks[File]] = Checks()
"""The checks on lines of files."""

SDK_RULES: Final = frozenset({"MIG407", "MIG408", "MIG409"})
"""Rules for scripts that matter for programs around the jobs as well."""
_LABELS: Final = re.compile(
    r"training\.kubeflow\.org/[\w-]+|label_training_kubeflow_org_\w+|training_kubeflow_org_[\w]+"
)
_CONTAINERS: Final = "|".join(info.container for info in KINDS.values())
_NAMES: Final = re.compile(
    rf"container(?:_name)?\"?\s*[=!]=?~?\s*\\?[\"'](?:{_CONTAINERS})\\?[\"']"
    r"|pod(?:_name)?\"?\s*[=!]=?~?\s*\\?[\"'][^\"']*-(?:master|worker|launcher|chief|ps)-[^\"']*"
    rf"|kubectl\s+(?:\S+\s+)*?logs\b.*\s-c[ =](?:{_CONTAINERS})\b"
    r"|kubectl\s+(?:\S+\s+)*?(?:logs|exec)\b.*-(?:master|worker|chief|ps)-\d"
)
_KIND_NAMES: Final = "|".join(f"{info.kind}|{info.singular}s?" for info in KINDS.values())
_WAIT: Final = re.compile(r"--for[= ]['\"]?condition=['\"]?(Succeeded|Running|Created|Restarting)\b", re.IGNORECASE)
_OTHERS: Final = re.compile(r"\b(?:pods?|po|workflows?|wf|pipelineruns?|taskruns?|applications?)(?:/|\s)")
_WORDS: Final = re.compile(
    r"\b(replicaStatuses|replica_statuses|wait_for_job_conditions|is_job_(?:succeeded|running|created|restarting)"
    r"|JOB_CONDITION_(?:SUCCEEDED|RUNNING|CREATED|RESTARTING))\b"
    r"|(?:\.type\s*==\s*|type==?\\?)[\"'\\]+(?:Succeeded|Running|Created|Restarting)\\?[\"']"
)
_METRICS: Final = re.compile(r"\btraining_operator_\w+")
_EVENTS: Final = re.compile(
    r"\b(?:SuccessfulCreate(?:Pod|Service)|SuccessfulDelete(?:Pod|Job)|ExitedWithCode"
    rf"|(?:{'|'.join(KINDS)})(?:Created|Running|Restarting|Succeeded|Failed|Suspended|Resumed))\b"
    rf"|involvedObject\.kind=(?:{'|'.join(KINDS)})"
)
_PIPELINES: Final = re.compile(
    rf"\bflytekitplugins\.kf\w+|\b(?:{'|'.join(KINDS)})Client\b|kubeflow\.training\b|\bTrainingClient\b"
    rf"|\bkubectl\s+(?:\S+\s+)*?(?:create|apply|get|wait|delete|describe|scale)\b.*\b(?:{_KIND_NAMES})\b"
)


def _by_line(*patterns: re.Pattern[str], means: str) -> Callable[[File], Iterator[Spot]]:
    """A check of each line: what the first of the patterns finds there, and what that means."""

    def check(file: File) -> Iterator[Spot]:
        for line in file.lines:
            if found := next(filter(None, (each.search(line.text) for each in patterns)), None):
                yield Spot(f"{_shown(found[0])} {means}.", line=line.number)

    return check


FILES.rule("MIG402")(_by_line(_LABELS, _NAMES, means="selects pods of v1 and none of v2"))
FILES.rule("MIG404")(_by_line(_METRICS, means="is a metric of v1's operator"))
FILES.rule("MIG405")(_by_line(_EVENTS, means="is of an event of v1's operator"))
FILES.rule("MIG406")(_by_line(_PIPELINES, means="works with jobs of v1"))


@FILES.rule("MIG403")
def waits(file: File) -> Iterator[Spot]:
    """Conditions that v2 does not have."""
    for line in file.lines:
        found = _WAIT.search(line.text)
        if found and not _OTHERS.search(line.text):
            yield Spot(f"TrainJobs have no condition {found[1]}.", line=line.number)
        elif found is None and (words := _WORDS.search(line.text)):
            yield Spot(f"{_shown(words[0])} is of the status of v1's jobs.", line=line.number)


def _shown(text: str) -> str:
    """What was found; of a command nothing, because it may hold a credential."""
    return "this kubectl command" if text.startswith("kubectl") else text


def lint_file(path: str, text: str) -> list[Finding]:
    """What is found in a file around the jobs, by its lines, and by its syntax where it is Python that makes jobs."""
    found = FILES(File(path, text), source=path)
    if language_of(path, text) in (Language.PYTHON, Language.NOTEBOOK):
        found += [each for each in lint_script(path, text) if each.rule.id in SDK_RULES]
    return found
