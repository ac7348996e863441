"""Which test shows which rule of the engine: `python -m e2e.engine_checklist` writes `e2e/coverage-of-engine.md`.

The rules are the items E-001 ... of v1's engine, and its known defects K-01 ..., as mended. `engine_rules.yaml` has an
answer for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from e2e.checklists import ROOT

PAGE = ROOT / "e2e" / "coverage-of-engine.md"
RULES = ROOT / "e2e" / "engine_rules.yaml"
COUNTS = {"E": 150, "K": 67}
DIGITS = {"E": 3, "K": 2}


def items() -> list[str]:
    """Every rule, in order."""
    return [f"{sort}-{number:0{DIGITS[sort]}d}" for sort, count in COUNTS.items() for number in range(1, count + 1)]


@cache
def rules() -> Mapping[str, Any]:
    """The answer to each rule: a test as `file::name`, or `amended: K-nn`, or `untested: why`."""
    loaded: dict[str, Any] = yaml.safe_load(RULES.read_text())
    return loaded


def shown() -> dict[str, str]:
    """The test of each rule that has one."""
    return {item: answer for item, answer in rules().items() if isinstance(answer, str)}


def exists(test: str) -> bool:
    """Whether there is a test of this name, given as `file::name`."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and re.search(rf"def {name}\(", path.read_text()) is not None


def page() -> str:
    """The text of the page."""
    amended = sum("amended" in answer for answer in rules().values() if isinstance(answer, dict))
    untested = len(rules()) - len(shown()) - amended
    lines = [
        "# Coverage of the engine's rules",
        "",
        "Made of `engine_rules.yaml` by `python -m e2e.engine_checklist`. E-001 ... are the items of v1's engine,",
        "K-01 ... its known defects, as mended, by number.",
        "",
        f"{len(shown())} of {len(items())} are shown by tests, {amended} are amended by a defect, "
        f"{untested} say why there is no test.",
        "",
        "| rule | test, or why there is none |",
        "|---|---|",
        *(f"| {item} | {_words(rules().get(item))} |" for item in items()),
    ]
    return "\n".join(lines) + "\n"


def _words(answer: Any) -> str:
    if isinstance(answer, dict):
        return f"amended by {answer['amended']}" if "amended" in answer else str(answer["untested"])
    return f"`{answer}`"


if __name__ == "__main__":
    PAGE.write_text(page())
