"""A survey for users: a ranked table, and the pieces that its page (`fleet`) is made of. All is made of its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from training_migration.findings import Severity, Verdict
from training_migration.report.columns import Table
from training_migration.report.jobs import BROKEN
from training_migration.report.since import in_one_line

Json = dict[str, Any]

ORDER: Final = (*(each.value for each in Verdict), BROKEN)
"""From what moves as it is to what cannot be read."""
MEANINGS: Final[Mapping[str, str]] = {
    Verdict.EXACT.value: "only names differ",
    Verdict.EQUIVALENT.value: "the same training happens, something around it differs",
    Verdict.NEEDS_WORK.value: "needs a manual change first",
    Verdict.IMPOSSIBLE.value: "no TrainJob can do its training",
    BROKEN: "not readable, or nothing that v1 would take",
}
COLOURS: Final[Mapping[str, str]] = {
    Verdict.EXACT.value: "green",
    Verdict.EQUIVALENT.value: "green",
    Verdict.NEEDS_WORK.value: "yellow",
    Verdict.IMPOSSIBLE.value: "bold red",
    BROKEN: "bold red",
}
SEVERITIES: Final = {Severity.ERROR: "bad", Severity.WARNING: "maybe", Severity.INFO: ""}
"""Classes of the page's styles."""
_CLASSES: Final[Mapping[str, str]] = {
    Verdict.EXACT.value: "good",
    Verdict.EQUIVALENT.value: "v1",
    Verdict.NEEDS_WORK.value: "maybe",
    Verdict.IMPOSSIBLE.value: "bad",
    BROKEN: "v2",
}


def ranked(jobs: Sequence[Json]) -> list[Json]:
    """The jobs by verdict, those last that need most; of one verdict in their order."""
    return sorted(jobs, key=lambda job: ORDER.index(word(job)))


def word(job: Json) -> str:
    """The verdict, or that it is broken."""
    return str(job["verdict"] or BROKEN)


def title(job: Json) -> str:
    """Kind, namespace and name as users write them."""
    ref = job["ref"]
    name = "/".join(part for part in (ref["namespace"], ref["name"]) if part)
    return f"{ref['kind']} {name}".strip() or "-"


def place(ref: Json) -> str:
    """File and line, as editors open them."""
    source = "standard input" if ref["source"] == "-" else ref["source"]
    return f"{source}:{ref['line']}" if ref["line"] else source


def counts(job: Json) -> str:
    """Open findings by severity, for example `2 errors, 1 warning`."""
    counted = Counter(each["severity"] for each in job["findings"] if not each["fixed"])
    return ", ".join(
        f"{counted[each.value]} {_plural(each, counted[each.value])}" for each in Severity if counted[each.value]
    )


def _plural(severity: Severity, count: int) -> str:
    if severity is Severity.INFO:
        return "to know"
    return severity.value if count == 1 else f"{severity.value}s"


def as_table(jobs: Sequence[Json]) -> Table:
    """One line for each job."""
    rows = [(title(job), word(job), counts(job), place(job["ref"]), job["reason"]) for job in ranked(jobs)]
    return Table(("job", "verdict", "findings", "where", "main obstacle"), rows)


def of_ignored(ignored: Mapping[str, int]) -> str:
    """What was left out, by version and kind."""
    return f"Ignored: {', '.join(f'{count} {kind}' for kind, count in ignored.items())}."


def headline(content: Json) -> str:
    """How many of each verdict, and what was left out."""
    found = [f"{count} {verdict}" for verdict, count in content["summary"].items() if count]
    number = len(content["jobs"])
    lines = [
        f"{number} {'job' if number == 1 else 'jobs'} for Trainer {content['target']}: {', '.join(found) or 'nothing'}."
    ]
    if ignored := content["ignored"]:
        lines.append(of_ignored(ignored))
    if since := content.get("since"):
        lines.append(in_one_line(since))
    return "\n".join(lines)


def as_text(content: Json, *, terminal: bool) -> str:
    """The table and the sentences that sum it up."""
    return f"{as_table(content['jobs']).text(COLOURS, terminal=terminal)}\n\n{headline(content)}"


def as_markdown(content: Json) -> str:
    """A section."""
    return f"## Survey\n\n{headline(content)}\n\n{as_table(content['jobs']).markdown()}"


def rules(content: Json) -> Iterator[str]:
    """What to do about each rule that has been found, for a page."""
    found = {each["id"]: each for job in content["jobs"] for each in job["findings"]}
    if found:
        yield "<h2>What to do</h2>"
        yield f"<dl>{''.join(_rule(found[name]) for name in sorted(found))}</dl>"


def bar(summary: Mapping[str, int], *, legend: bool = True) -> str:
    """A bar whose parts are as long as there are jobs of each verdict, with a legend."""
    total, at, parts, words = sum(summary.values()), 0.0, [], []
    for verdict, count in summary.items():
        if not count:
            continue
        length = 100 * count / total
        text = escape(f"{verdict}: {count} of {total}")
        colour = _CLASSES[verdict]
        parts.append(
            f'<rect class="{colour}" x="{at:.3f}" y="0" width="{length:.3f}" height="8" fill="currentColor">'
            f"<title>{text}</title></rect>"
        )
        words.append(
            f'<li><span class="{colour}">&#9632;</span> <strong>{text}</strong>, {escape(MEANINGS[verdict])}</li>'
        )
        at += length
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 8" width="100%" height="48" '
        f'preserveAspectRatio="none" role="img" aria-label="Jobs by verdict">{"".join(parts)}</svg>'
    )
    return f"{picture}<ul>{''.join(words)}</ul>" if legend else picture


def verdict_cell(job: Json) -> str:
    """The verdict and what stands in the way, as a cell of a table."""
    reason = f"<br>{escape(job['reason'])}" if job["reason"] else ""
    return f'<td><span class="{_CLASSES[word(job)]}">{escape(word(job))}</span>{reason}</td>'


def findings_of(job: Json) -> str:
    """How many there are, and all of them on demand."""
    amount = escape(counts(job) or ("none open" if job["findings"] else "none"))
    findings = "".join(_finding(each) for each in job["findings"])
    return f"<details><summary>{amount}</summary><ul>{findings}</ul></details>" if findings else amount


def _finding(finding: Json) -> str:
    name = escape(finding["id"])
    path = f" <code>{escape(finding['path'])}</code>" if finding["path"] else ""
    fixed = ", fixed by the conversion" if finding["fixed"] else ""
    text = f"({escape(finding['severity'])}{fixed}): {escape(finding['message'])}{path}"
    return f'<li><a href="#{name}">{name}</a> {text}</li>'


def _rule(finding: Json) -> str:
    name = escape(finding["id"])
    return f'<dt id="{name}"><strong>{name}</strong></dt><dd>{escape(finding["remedy"])}</dd>'
