"""Write the generated pages of `docs/`, and parts of others: `python -m e2e.support.documentation [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from e2e.support.documentation.rules import FOLDER
from e2e.support.documentation.rules import pages as rule_pages
from e2e.support.documentation.rules_of_v1 import written
from e2e.support.documentation.sections import UnknownSection, rendered
from e2e.support.paths import ROOT

DOCS = ROOT / "docs"


def main(arguments: list[str], docs: Path = DOCS, whole: Mapping[str, str] | None = None) -> int:
    """Write the pages, or with `--check` name those that are not current; the exit status is then 1.

    `whole` are the pages that are generated as a whole, by path: by default those of the rules.
    """
    parser = argparse.ArgumentParser(
        prog="python -m e2e.support.documentation", description="Write what docs/ has of the code."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page is not current")
    options = parser.parse_args(arguments)
    try:
        stale = dict(_stale(docs, rule_pages() if whole is None else whole))
    except UnknownSection as error:
        parser.error(str(error))
    if options.check:
        for page in stale:
            print(f"{page} is not current; run `make pages`", file=sys.stderr)
        return 1 if stale else 0
    for page, text in stale.items():
        if text is None:
            page.unlink()
        else:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
    return 0


def _stale(docs: Path, whole: Mapping[str, str]) -> Iterator[tuple[Path, str | None]]:
    """Pages that are not current, each with what it should be; None for one that should not be there."""
    there = {str(page.relative_to(docs)): page.read_text() for page in sorted(docs.rglob("*.md"))}
    for name, text in there.items():
        try:
            current = whole.get(name) if name.startswith(f"{FOLDER}/") else written(rendered(text))
        except UnknownSection as error:
            raise UnknownSection(f"{docs / name}: {error}") from error
        if current != text:
            yield docs / name, current
    yield from ((docs / name, text) for name, text in whole.items() if name not in there)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
