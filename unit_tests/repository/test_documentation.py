"""Links of the pages lead somewhere, on the site and where the code is hosted; commands are known to work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from e2e.support.documentation.command_lines import INLINE
from e2e.support.documentation.commands import (
    BESIDE_JOBS,
    BLOCK,
    BY_HAND,
    EXECUTED,
    ON_A_CLUSTER,
    ON_THIS_MACHINE,
    SHOWN,
    blocks,
    pages,
    with_prompts,
)
from e2e.support.documentation.site_hooks import slug
from e2e.support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "e2e").rglob("*.md"), *DOCS.rglob("*.md")])
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(<?([^)>\s]+)>?\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Path and anchor of every link of a page that leads to another file or a heading."""
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text()))
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    """What code hosts make of the headings of a page, and the site as well; anchors of the page's own."""
    text = FENCED.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return frozenset([*map(slug, headings), *re.findall(r'<a id="(.+?)"></a>', text)])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = []
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(ROOT):
            lost.append(path)
        elif anchor and anchor not in anchors(target):
            lost.append(f"{path}#{anchor}")
    assert lost == []


def test_anchors_are_those_of_code_hosts() -> None:
    assert slug("`status.waiting`: what a job waits for") == "statuswaiting-what-a-job-waits-for"
    assert slug("[Kueue](https://kueue.example) & queues") == "kueue--queues"


def in_the_navigation(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, list):
        yield from (name for each in entry for name in in_the_navigation(each))
    elif isinstance(entry, dict):
        yield from (name for each in entry.values() for name in in_the_navigation(each))


class _Navigation(yaml.SafeLoader):
    """Reads the settings of the site without making the objects that they name."""


_Navigation.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)
_Navigation.add_constructor("!ENV", lambda loader, node: None)


def test_every_page_is_in_the_navigation_and_on_the_first_page() -> None:
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=_Navigation)
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    rules = {name for name in there if name.startswith("migration/rules/")}
    assert {f"migration/{path}" for path, _ in links(DOCS / "migration" / "rules.md")} >= rules
    there -= rules
    assert there - set(in_the_navigation(settings["nav"])) == set()
    assert there - {path for path, _ in links(DOCS / "index.md")} - {"index.md"} == set()


def test_every_block_of_commands_says_how_it_is_known_to_work() -> None:
    silent = [f"{block.page}: {block.commands[0]}" for block in blocks() if not says_how(block.evidence, block.page)]
    assert silent == [], "each needs `<!-- commands: ... -->` on the line before, see docs/development.md"


def says_how(evidence: str, page: str) -> bool:
    """Whether the evidence is one of the forms, and its files are there; one that executes a page mentions it."""
    if evidence.startswith(SHOWN):
        return all((ROOT / file).is_file() for file in evidence.removeprefix(SHOWN).split(", "))
    if evidence in (BESIDE_JOBS, ON_A_CLUSTER, ON_THIS_MACHINE):
        return True
    if evidence.startswith(EXECUTED):
        test = ROOT / evidence.removeprefix(EXECUTED)
        return test.is_file() and Path(page).name in test.read_text()
    return re.fullmatch(f"{BY_HAND}: .{{10,}}", evidence) is not None


@pytest.mark.parametrize(
    "evidence",
    ["", "shown by e2e/test_nothing.py", "by hand", "executed by e2e/conftest.py", "by hand: yes"],
)
def test_what_says_nothing_does_not_do(evidence: str) -> None:
    assert not says_how(evidence, "docs/gang-scheduling.md")


def test_commands_are_found_with_and_without_a_comment() -> None:
    text = "<!-- commands: by hand: x -->\n```console\n$ one\nout\n$ two\n```\n\n```console\n$ three\n```\n"
    assert BLOCK.findall(text) == [("by hand: x", "$ one\nout\n$ two\n"), ("", "$ three\n")]


def test_a_block_of_commands_only_needs_no_prompts() -> None:
    assert BLOCK.findall("```bash\none\n```\n") == [("", "one\n")]
    assert with_prompts("one \\\n  more\n\ntwo\n") == "$ one \\\n  more\n\n$ two\n"
    assert with_prompts("$ one\nout\n") == "$ one\nout\n"


def test_no_command_stands_outside_of_such_a_block() -> None:
    """Blocks of other languages hold files, pictures and outputs."""
    found = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages()
        for language, text in re.findall(r"^```(\w*)[^`\n]*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
        for line in text.splitlines()
        if language in ("sh", "shell")
        or (language not in ("console", "bash") and line.startswith(("$ ", "sudo ", *INLINE)))
    ]
    assert found == []
