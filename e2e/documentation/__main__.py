"""Write the generated parts of the pages in `docs/`: `python -m e2e.documentation [--check]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from e2e.documentation.sections import UnknownSection, rendered

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main(arguments: list[str], docs: Path = DOCS) -> int:
    """Write the pages, or with `--check` name those that are not current; the exit status is then 1."""
    parser = argparse.ArgumentParser(
        prog="python -m e2e.documentation", description="Write what docs/ has of the code."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a page is not current")
    options = parser.parse_args(arguments)
    stale = []
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text()
        try:
            current = rendered(text)
        except UnknownSection as error:
            parser.error(f"{page}: {error}")
        if current != text:
            stale.append(page)
            if not options.check:
                page.write_text(current)
    if not options.check:
        return 0
    for page in stale:
        print(f"{page} is not current; run `make pages`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
