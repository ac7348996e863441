"""`training-operator migrate compare`: whether two recorded runs were the same training."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from training_controllers.frameworks.plugins import kinds
from training_migration.compare import Comparison, Outcome, Tolerance
from training_migration.compare import compare as compare_runs
from training_migration.exits import Exit, Failure
from training_migration.report.compare import as_html, as_json, as_markdown, as_text
from training_migration.report.page import page
from training_migration.runs.record import BadRecord, RunRecord, Side, read_record
from training_migration.verbs.output import write

CODES: Final = {
    Outcome.EQUAL: Exit.DONE,
    Outcome.DIFFERENT: Exit.DIFFERENT,
    Outcome.INCONCLUSIVE: Exit.INCONCLUSIVE,
}


def compare(
    *,
    v1_run: Path,
    v2_run: Path,
    tolerance: float | None,
    slower: float,
    style: str,
    output: Path | None,
) -> Exit:
    """Compare the recorded runs V1_RUN and V2_RUN, two JSON files that `migrate run` has written."""
    records = [_read(path, side) for path, side in ((v1_run, Side.V1), (v2_run, Side.V2))]
    comparison = compare_runs(*records, tolerance=Tolerance(tolerance, slower))
    terminal = output is None and sys.stdout.isatty()
    write(shown(comparison, style, terminal=terminal), output)
    return CODES[comparison.outcome]


def _read(path: Path, side: Side) -> RunRecord:
    try:
        record = read_record(path)
    except BadRecord as error:
        raise Failure(f"{error}.", Exit.USAGE) from None
    if record.side is not side:
        raise Failure(f"{path}: is a run of {record.side}; the run of v1 comes first, that of v2 second.", Exit.USAGE)
    if side is Side.V1 and record.ref.kind not in kinds():
        raise Failure(f"{path}: ref.kind {record.ref.kind!r} is none of v1's: {', '.join(kinds())}.", Exit.USAGE)
    return record


def shown(comparison: Comparison, style: str, *, terminal: bool) -> str:
    """The comparison in a format; `terminal` allows colours."""
    match style:
        case "json":
            return json.dumps(as_json(comparison), indent=2)
        case "markdown":
            return as_markdown(comparison)
        case "html":
            return page("Two runs compared", as_html(comparison))
    return as_text(comparison, terminal=terminal)
