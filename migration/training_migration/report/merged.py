"""Chapters as one document: Markdown, a page that needs nothing else, or JUnit's XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Final
from xml.etree import ElementTree

from training_migration.report.chapter import Chapter, Status
from training_migration.report.columns import Table
from training_migration.report.page import page

TITLE: Final = "Migration to Trainer v2"
_WORDS: Final = {Status.GOOD: "good", Status.OPEN: "to be looked at", Status.BAD: "bad"}
_CLASSES: Final = {Status.GOOD: "good", Status.OPEN: "maybe", Status.BAD: "bad"}


def contents(chapters: Sequence[Chapter]) -> Table:
    """A line for each chapter."""
    rows = [(each.verb, _WORDS[each.status], each.headline.replace("\n", " "), each.source) for each in chapters]
    return Table(("verb", "result", "in one sentence", "file"), rows)


def as_markdown(chapters: Sequence[Chapter]) -> str:
    """A document with a section for each chapter."""
    parts = [f"# {TITLE}", contents(chapters).markdown()]
    for each in chapters:
        parts += [f"## {each.verb}: {each.source}", each.headline]
        for title, table in each.tables:
            parts += [*([f"### {title}"] if title else []), table.markdown()]
    return "\n\n".join(parts)


def as_html(chapters: Sequence[Chapter]) -> str:
    """A page: what there is, then every chapter."""
    head = "<tr><th>verb</th><th>result</th><th>in one sentence</th><th>file</th></tr>"
    lines = [
        f'<tr><td><a href="#chapter-{number}">{escape(each.verb)}</a></td>'
        f'<td class="{_CLASSES[each.status]}">{_WORDS[each.status]}</td>'
        f"<td>{escape(each.headline)}</td><td><code>{escape(each.source)}</code></td></tr>"
        for number, each in enumerate(chapters)
    ]
    sections = [
        f'<section id="chapter-{number}"><h2>{escape(each.verb)}: {escape(each.source)}</h2>{_body(each)}</section>'
        for number, each in enumerate(chapters)
    ]
    return page(TITLE, f"<table>{head}{''.join(lines)}</table>", *sections)


def _body(chapter: Chapter) -> str:
    if chapter.html:
        return chapter.html
    tables = [(f"<h3>{escape(title)}</h3>" if title else "") + table.html({}) for title, table in chapter.tables]
    return f"<p>{escape(chapter.headline)}</p>{''.join(tables)}"


def as_junit(chapters: Sequence[Chapter]) -> str:
    """A suite for each chapter, a test for each check: what is bad has failed, what is to be looked at was skipped."""
    suites = ElementTree.Element("testsuites", name=TITLE)
    for each in chapters:
        counted = Counter(check.status for check in each.checks)
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            name=_clean(f"{each.verb} {each.source}"),
            tests=str(len(each.checks)),
            failures=str(counted[Status.BAD]),
            skipped=str(counted[Status.OPEN]),
        )
        for check in each.checks:
            case = ElementTree.SubElement(suite, "testcase", classname=each.verb, name=_clean(check.name))
            message = _clean(check.message)
            if check.status is Status.BAD:
                ElementTree.SubElement(case, "failure", message=message).text = message
            elif check.status is Status.OPEN:
                ElementTree.SubElement(case, "skipped", message=message)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(each for each in text if each in "\n\t" or (ord(each) >= 32 and not 0xD800 <= ord(each) < 0xE000))
