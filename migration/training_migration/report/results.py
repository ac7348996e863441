"""What the other verbs write as JSON, read as chapters of a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from training_api.yaml_text import json_value
from training_migration.compare import Comparison, Outcome
from training_migration.comparison.rows import Answer, Row
from training_migration.findings import Severity
from training_migration.report import compare, fleet, jobs, survey
from training_migration.report.chapter import Chapter, Check, Status
from training_migration.report.columns import Table
from training_migration.runs.record import from_json
from training_migration.shape import FLAG, NUMBER, TEXT, Shape, misfit_of, without_nulls

Json = dict[str, Any]
LINT: Final = "migrate.lint/1"
DIFF: Final = "migrate.diff/1"
PROBE: Final = "migrate.probe/1"
VERIFY: Final = "migrate.verify/1"


class Unreadable(ValueError):
    """A file that no verb has written; the text is one sentence."""


def chapters(text: str, source: str) -> list[Chapter]:
    """The chapters of one file; raises Unreadable."""
    try:
        content = json_value(text)
    except ValueError as error:
        raise Unreadable(f"{source}: is not JSON: {error}.") from None
    return [_chapter(each, source) for each in (content if isinstance(content, list) else [content])]


def _chapter(content: Any, source: str) -> Chapter:
    schema = str(content.get("schema")) if isinstance(content, dict) else ""
    if schema not in READERS:
        known = ", ".join(sorted(READERS))
        raise Unreadable(f"{source}: its schema {schema!r} is none that a report can be made of: {known}.")
    if problem := misfit_of(content, SHAPES[schema]):
        raise Unreadable(f"{source}: is no complete {schema}: {problem}.")
    try:
        return READERS[schema](content, source)
    except (KeyError, ValueError) as error:  # a word that stands for nothing
        why = f"{error} means nothing" if isinstance(error, KeyError) else str(error)
        raise Unreadable(f"{source}: is no complete {schema}: {why}.") from None


_COUNTS: Final = {"*": NUMBER}
_FINDING: Final = {
    **dict.fromkeys(("id!", "severity!", "path!", "source!", "message!", "remedy!"), TEXT),
    "line!": NUMBER,
    "reference": TEXT,
    "title": TEXT,
    "fixed": FLAG,
}
_ITEMS: Final = [
    {
        **dict.fromkeys(("aspect!", "path!", "verdict!", "reason!"), TEXT),
        **dict.fromkeys(("severity", "v1", "v2"), TEXT),
    }
]
_REF: Final = {"kind!": TEXT, "name!": TEXT, "namespace": TEXT, "source": TEXT, "line": NUMBER}
_POD: Final = {
    "role!": TEXT, "index!": NUMBER, "ok!": FLAG, "why!": TEXT, "rank": NUMBER, "worldSize": NUMBER, "coordinator": TEXT
}  # fmt: skip
_DIFFERENCE: Final = {"object!": TEXT, "path!": TEXT}
_ROW: Final = dict.fromkeys(("aspect!", "v1!", "v2!", "verdict!", "reason!"), TEXT)
SHAPES: Final[Mapping[str, Shape]] = {
    jobs.SCHEMA: {
        "target!": TEXT,
        "kubernetes!": TEXT,
        "jobs!": [
            {
                "ref!": {**_REF, "namespace!": TEXT, "source!": TEXT, "line!": NUMBER},
                "verdict": TEXT,
                **dict.fromkeys(("reason!", "rejected!", "error!"), TEXT),
                "findings!": [{**_FINDING, "fixed!": FLAG, "reference!": TEXT}],
            }
        ],
        "ignored!": _COUNTS,
        "summary!": _COUNTS,
    },
    LINT: {"findings!": [_FINDING], "summary!": _COUNTS},
    DIFF: {
        "job!": TEXT,
        "headline!": TEXT,
        "pairs!": [{"v1!": [TEXT], "v2!": [TEXT], "items!": _ITEMS}],
        "whole!": _ITEMS,
        "situations!": _ITEMS,
    },
    compare.SCHEMA: {"runs!": {"v1!": {}, "v2!": {}}, "rows!": [_ROW]},
    PROBE: {"sides!": [{"side!": TEXT, "reasons!": [TEXT], "pods!": [_POD]}]},
    VERIFY: {
        "target!": TEXT,
        "jobs!": [
            {"ref!": _REF, "outcome!": TEXT, "message!": TEXT, "objects!": NUMBER, "differences!": [_DIFFERENCE]}
        ],
        "summary!": _COUNTS,
    },
}
"""What is read of each result; numbers and words that it shows, and nothing that is null where it needs one."""


_OF_VERDICTS: Final[Mapping[str, Status]] = {
    "exact": Status.GOOD,
    "equivalent": Status.GOOD,
    "needs-work": Status.OPEN,
    "impossible": Status.BAD,
    jobs.BROKEN: Status.BAD,
}


def _survey(content: Json, source: str) -> Chapter:
    content = {**content, "ignored": without_nulls(content["ignored"]), "summary": without_nulls(content["summary"])}
    checks = [
        Check(f"{survey.title(job)} ({survey.place(job['ref'])})", _OF_VERDICTS[survey.word(job)], job["reason"])
        for job in content["jobs"]
    ]
    table = ("", survey.as_table(content["jobs"]))
    return Chapter(
        "survey", source, survey.headline(content), tuple(checks), (table,), "\n".join(fleet.sections(content, {}))
    )


_OF_SEVERITIES: Final[Mapping[str, Status]] = {
    Severity.ERROR.value: Status.BAD,
    Severity.WARNING.value: Status.OPEN,
    Severity.INFO.value: Status.GOOD,
}


def _lint(content: Json, source: str) -> Chapter:
    found = content["findings"]
    checks = [
        Check(
            f"{each['id']} {survey.place(each)} {each['path']}".rstrip(),
            _OF_SEVERITIES[each["severity"]],
            each["message"],
        )
        for each in found
    ]
    rows = [(survey.place(each), each["severity"], each["id"], each["message"], each["remedy"]) for each in found]
    amounts = ", ".join(f"{count} {severity}" for severity, count in content["summary"].items() if count)
    table = Table(("where", "severity", "rule", "what is there", "what to do"), rows)
    return Chapter("lint", source, f"Found: {amounts or 'nothing'}.", tuple(checks), (("", table),))


def _diff(content: Json, source: str) -> Chapter:
    parts = [
        *(
            (f"{', '.join(pair['v1']) or 'none'} = {', '.join(pair['v2']) or 'none'}", pair["items"])
            for pair in content["pairs"]
        ),
        ("the whole job", content["whole"]),
        ("what happens when", content["situations"]),
    ]
    items = [item for _, each in parts for item in each]
    bad = any(item["severity"] == Severity.ERROR.value for item in items)
    warned = any(item["severity"] == Severity.WARNING.value for item in items)
    status = Status.BAD if bad else Status.OPEN if warned else Status.GOOD
    check = Check(content["job"], status, content["headline"])
    tables = [(title, table) for title, each in parts if (table := _differing(each)).rows]
    return Chapter("diff", source, f"{content['job']}: {content['headline']}", (check,), tuple(tables))


def _differing(items: Sequence[Json]) -> Table:
    rows = [
        (item["severity"], item["aspect"], item["path"], item["v1"], item["v2"], item["verdict"], item["reason"])
        for item in items
        if item["severity"]
    ]
    return Table(("severity", "aspect", "what", "v1", "v2", "verdict", "reason"), rows)


_OF_OUTCOMES: Final[Mapping[Outcome, Status]] = {
    Outcome.EQUAL: Status.GOOD,
    Outcome.DIFFERENT: Status.BAD,
    Outcome.INCONCLUSIVE: Status.OPEN,
}


def _compare(content: Json, source: str) -> Chapter:
    v1, v2 = (from_json(json.dumps(content["runs"][side]).encode(), side) for side in ("v1", "v2"))
    rows = [Row(r["aspect"], r["v1"], r["v2"], Answer(r["verdict"]), r["reason"]) for r in content["rows"]]
    comparison = Comparison(v1, v2, tuple(rows))
    name = f"{v1.ref.kind} {v1.ref.name} = {v2.ref.kind} {v2.ref.name}"
    check = Check(name, _OF_OUTCOMES[comparison.outcome], comparison.headline)
    table = ("", compare.comparison_table(comparison))
    return Chapter("compare", source, f"{name}: {comparison.headline}", (check,), (table,), compare.as_html(comparison))


def _probe(content: Json, source: str) -> Chapter:
    pods = [(side["side"], pod) for side in content["sides"] for pod in side["pods"]]
    checks = [
        Check(f"{side}: {pod['role']} {pod['index']}", Status.GOOD if pod["ok"] else Status.BAD, pod["why"])
        for side, pod in pods
    ]
    checks += [
        Check(f"{side['side']}: pods", Status.OPEN, "; ".join(side["reasons"]) or "no pod reported anything")
        for side in content["sides"]
        if not side["pods"]
    ]
    rows = [
        (
            side,
            f"{pod['role']} {pod['index']}",
            _rank(pod),
            pod["coordinator"] or "-",
            "met" if pod["ok"] else pod["why"],
        )
        for side, pod in pods
    ]
    met = sum(pod["ok"] for _, pod in pods)
    table = Table(("side", "pod", "rank", "coordinator", "verdict"), rows)
    return Chapter("probe", source, f"{met} of {len(pods)} pods met the others.", tuple(checks), (("", table),))


def _rank(pod: Json) -> str:
    return "-" if pod["rank"] is None else f"{pod['rank']} of {pod['worldSize']}"


_OF_VERIFICATIONS: Final[Mapping[str, Status]] = {
    "equal": Status.GOOD,
    "different": Status.BAD,
    "rejected": Status.BAD,
}


def _verify(content: Json, source: str) -> Chapter:
    checks = [
        Check(
            f"{job['ref']['kind']} {job['ref']['name']}",
            _OF_VERIFICATIONS.get(job["outcome"], Status.OPEN),
            _remark(job),
        )
        for job in content["jobs"]
    ]
    rows = [(job["ref"]["kind"], job["ref"]["name"], job["outcome"], _remark(job)) for job in content["jobs"]]
    amounts = ", ".join(f"{count} {outcome}" for outcome, count in content["summary"].items() if count)
    headline = f"{len(rows)} jobs against Trainer {content['target']}: {amounts or 'none'}."
    tables = [("", Table(("kind", "name", "outcome", "remark"), rows)), *_unequal(content)]
    return Chapter("verify", source, headline, tuple(checks), tuple(tables))


def _remark(job: Json) -> str:
    if job["message"]:
        return str(job["message"])
    return f"{len(job['differences'])} values differ" if job["differences"] else f"{job['objects']} objects"


def _unequal(content: Json) -> Iterator[tuple[str, Table]]:
    for job in content["jobs"]:
        if job["differences"]:
            rows = [
                tuple(str(one.get(key)) for key in ("object", "path", "predicted", "built"))
                for one in job["differences"]
            ]
            yield f"{job['ref']['kind']} {job['ref']['name']}", Table(("object", "path", "predicted", "built"), rows)


READERS: Final[Mapping[str, Callable[[Json, str], Chapter]]] = {
    jobs.SCHEMA: _survey,
    LINT: _lint,
    DIFF: _diff,
    compare.SCHEMA: _compare,
    PROBE: _probe,
    VERIFY: _verify,
}
"""What reads the results of each verb, by the schema that they name."""
