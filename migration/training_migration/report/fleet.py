"""The page of a survey for those who lead a move: what to do first, who has what, what has changed, every job.

It is one file that needs nothing else. Everything can be read without its script, which filters and groups the jobs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Any, Final

from training_migration.findings import Severity, Verdict
from training_migration.report import survey
from training_migration.report.jobs import BROKEN
from training_migration.report.page import page
from training_migration.report.since import in_one_line

Json = dict[str, Any]

READY: Final = (Verdict.EXACT.value, Verdict.EQUIVALENT.value)
BLOCKED: Final = {BROKEN: "Not readable, or not valid for v1", "rejected": "v2 would reject the converted job"}
"""What stands in the way of jobs without being a rule."""
_GROUPS: Final = ("namespace", "kind", "owner")
_FILTERS: Final = (*_GROUPS, "verdict")
_FIRST: Final = 5
"""Causes among the first steps."""
_HARDEST: Final = list(Severity)


@dataclass(slots=True)
class Cause:
    """Something that a person has to look at, with the jobs that have it."""

    id: str
    title: str
    severity: Severity
    remedy: str
    jobs: list[int] = field(default_factory=list)


def causes(jobs: Sequence[Json]) -> list[Cause]:
    """What stands in the way of jobs, or changes them: the worst first, and of those what most jobs have."""
    found: dict[tuple[str, Severity], Cause] = {}
    for at, job in enumerate(jobs):
        for each in _causes_of(job):
            cause = found.setdefault((each.id, each.severity), each)
            if at not in cause.jobs[-1:]:
                cause.jobs.append(at)
    return sorted(found.values(), key=lambda each: (_HARDEST.index(each.severity), -len(each.jobs), each.id))


def _causes_of(job: Json) -> Iterator[Cause]:
    for field_name, name in (("error", BROKEN), ("rejected", "rejected")):
        if job[field_name]:
            yield Cause(name, BLOCKED[name], Severity.ERROR, "Read the note of each job.")
    for each in job["findings"]:
        if not each["fixed"] and each["severity"] != Severity.INFO.value:
            yield Cause(each["id"], each.get("title", each["message"]), Severity(each["severity"]), each["remedy"])


def as_html(content: Json, diffs: Mapping[int, str] | None = None) -> str:
    """A whole page; `diffs` are pieces of HTML by the number of the job, for those whose pods were compared."""
    script = _resource("fleet.js")
    title = f"Jobs for Trainer {content['target']}"
    return page(title, *sections(content, diffs or {}), style=_resource("fleet.css"), script=script)


def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def sections(content: Json, diffs: Mapping[int, str]) -> Iterator[str]:
    """The pieces of the page."""
    jobs = sorted(content["jobs"], key=lambda job: -survey.ORDER.index(survey.word(job)))
    # Numbers follow the order of the page, the differences that of the survey.
    number = {id(job): at for at, job in enumerate(content["jobs"])}
    shown_diffs = {at: diffs[number[id(job)]] for at, job in enumerate(jobs) if number[id(job)] in diffs}
    every_cause = causes(jobs)
    yield f"<p>{escape(survey.headline(content))}</p>"
    yield survey.bar(content["summary"])
    yield f"<h2>What to do first</h2>{_steps(jobs, every_cause)}"
    if since := content.get("since"):
        yield _since(since)
    if every_cause:
        yield f"<h2>Causes, the worst first</h2>{_causes(every_cause, jobs)}"
    groups = "".join(_group(jobs, each) for each in _GROUPS)
    yield f'<h2>Who has what</h2><div class="groups">{groups}</div>'
    yield f"<h2>Jobs</h2>{_filters(jobs, every_cause)}{_table(jobs, shown_diffs)}"
    if shown_diffs:
        yield "<h2>Pods of v1 and v2 compared</h2>" + "".join(
            f"<details><summary>{escape(survey.title(jobs[at]))}</summary>"
            f'<div class="scroll" id="diff-{at}">{piece}</div></details>'
            for at, piece in shown_diffs.items()
        )
    yield from survey.rules(content)


def _steps(jobs: Sequence[Json], every: Sequence[Cause]) -> str:
    ready = sum(survey.word(job) in READY for job in jobs)
    blocking = [each for each in every if each.severity is Severity.ERROR]
    steps = []
    if ready:
        what = "job is" if ready == 1 else "jobs are"
        steps.append(
            f"<strong>{ready} {what} ready</strong>: write them with <code>training-operator migrate convert</code>, "
            "try one of each kind with <code>migrate run</code>, and apply the rest."
        )
    steps += [
        f"<strong>{_link(each)}</strong> in {_jobs(len(each.jobs))}: {_prose(each.title)}. {_prose(each.remedy)}"
        for each in blocking[:_FIRST]
    ]
    if rest := blocking[_FIRST:]:
        steps.append(f"{len(rest)} further causes, each of which concerns fewer jobs, are below.")
    return f'<ol class="steps">{"".join(f"<li>{each}</li>" for each in steps)}</ol>' if steps else "<p>Nothing.</p>"


def _prose(text: str) -> str:
    """A sentence of ours, with code in backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _jobs(count: int) -> str:
    return f"{count} job" if count == 1 else f"{count} jobs"


def _link(cause: Cause) -> str:
    """To the jobs with this cause, by the script; without it to what is known of the rule, or to the jobs."""
    target = f"#{cause.id}" if cause.id not in BLOCKED else "#jobs"
    return f'<a href="{escape(target)}" data-cause="{escape(cause.id)}">{escape(cause.id)}</a>'


def _causes(every: Sequence[Cause], jobs: Sequence[Json]) -> str:
    head = "<thead><tr><th>cause</th><th>jobs</th><th>severity</th><th>what is found</th><th>which</th></tr></thead>"
    rows = "".join(
        f"<tr><td>{_link(each)}</td>"
        f'<td data-label="jobs">{len(each.jobs)}</td>'
        f'<td class="{survey.SEVERITIES[each.severity]}">{each.severity.value}</td><td>{_prose(each.title)}</td>'
        f"<td><details><summary>{_jobs(len(each.jobs))}</summary><ul>"
        + "".join(f'<li><a href="#job-{at}">{escape(survey.title(jobs[at]))}</a></li>' for at in each.jobs)
        + "</ul></details></td></tr>"
        for each in every
    )
    return f'<table class="causes">{head}<tbody>{rows}</tbody></table>'


def value(job: Json, name: str) -> str:
    """What a job is grouped by; empty where it has none."""
    if name == "verdict":
        return survey.word(job)
    return str(job.get("owner", "") if name == "owner" else job["ref"][name])


def _group(jobs: Sequence[Json], name: str) -> str:
    """How many jobs of each verdict there are, by namespace, kind or owner."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for job in jobs:
        counted[value(job, name)][survey.word(job)] += 1
    verdicts = [each for each in survey.ORDER if any(of_one[each] for of_one in counted.values())]
    head = "".join(f"<th>{escape(each)}</th>" for each in (name, "jobs", *verdicts))
    rows = "".join(
        f"<tr><td>{escape(key) or 'none'}</td><td>{of_one.total()}</td>"
        + "".join(f"<td>{of_one[each] or ''}</td>" for each in verdicts)
        + "</tr>"
        for key, of_one in sorted(counted.items(), key=lambda each: (-each[1].total(), each[0]))
    )
    return f'<div class="scroll"><h3>By {name}</h3><table><tr>{head}</tr>{rows}</table></div>'


def _filters(jobs: Sequence[Json], every: Sequence[Cause]) -> str:
    """The form of the script, which shows it."""
    selects = "".join(_select(name, name, sorted({value(job, name) for job in jobs} - {""})) for name in _FILTERS)
    selects += _select("causes", "cause", list(dict.fromkeys(each.id for each in every)))
    groups = "".join(f'<option value="{name}">{name}</option>' for name in _FILTERS)
    return (
        f'<form class="filters" id="jobs" hidden>{selects}<label>text<input name="text" type="search"></label>'
        f'<label>group by<select name="group"><option value="">nothing</option>{groups}</select></label>'
        f'<output id="shown">{len(jobs)} of {len(jobs)}</output></form>'
    )


def _select(name: str, label: str, values: Sequence[str]) -> str:
    options = "".join(f'<option value="{escape(each)}">{escape(each)}</option>' for each in values)
    options = f'<option value="">all</option>{options}'
    return f'<label>{label}<select name="{name}" data-field="{name}">{options}</select></label>'


def _table(jobs: Sequence[Json], diffs: Mapping[int, str]) -> str:
    head = "<thead><tr><th>job</th><th>verdict</th><th>findings</th><th>where</th><th>pods</th></tr></thead>"
    rows = "".join(_row(at, job, at in diffs) for at, job in enumerate(jobs))
    return f'<table class="jobs">{head}<tbody>{rows}</tbody></table>'


def _row(at: int, job: Json, compared: bool) -> str:
    data = {name: value(job, name) for name in _FILTERS}
    data["causes"] = "\n".join(dict.fromkeys(each.id for each in _causes_of(job)))
    attributes = "".join(f' data-{name}="{escape(text)}"' for name, text in data.items())
    owner = f"<br>{escape(data['owner'])}" if data["owner"] else ""
    link = f'<a href="#diff-{at}">compare</a>' if compared else ""
    return (
        f'<tr id="job-{at}"{attributes}><td>{escape(survey.title(job))}{owner}</td>{survey.verdict_cell(job)}'
        f'<td data-label="findings">{survey.findings_of(job)}</td>'
        f'<td data-label="where"><code>{escape(survey.place(job["ref"]))}</code></td>'
        f"<td{' data-label=pods' if compared else ''}>{link}</td></tr>"
    )


def _since(since: Json) -> str:
    """How many there were of each verdict then, and which jobs have changed."""
    parts = [f"<h2>Progress</h2><p>{escape(in_one_line(since))}</p>", survey.bar(since["summary"], legend=False)]
    for name, title in (("better", "Better"), ("worse", "Worse"), ("new", "New"), ("gone", "No longer there")):
        if since[name]:
            lines = "".join(f"<li>{escape(_changed(each))}</li>" for each in since[name])
            parts.append(f"<details><summary>{title}: {len(since[name])}</summary><ul>{lines}</ul></details>")
    return "".join(parts)


def _changed(entry: Json) -> str:
    if "ref" not in entry:
        return survey.title({"ref": entry})
    return f"{survey.title(entry)}: {entry['from'] or BROKEN} became {entry['to'] or BROKEN}"
