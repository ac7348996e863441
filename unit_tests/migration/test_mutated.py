"""Objects and results with something wrong in them: every verb says what, and none ends in a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from click.testing import CliRunner
from e2e.support.migration_fuzz import fuzz
from e2e.support.profiles import tries
from e2e.support.v1_examples.expected import examples

from training_migration.cli import migrate
from training_migration.survey import REPORT_IT

COUNT = tries(150)


def test_no_verb_ends_in_a_traceback(tmp_path: Path) -> None:
    found = fuzz(int(os.environ.get("FRESH_SEED", "0")), COUNT, tmp_path)
    assert [f"{each.verb}: {each.where}\n{each.text}" for each in found] == []


@pytest.mark.parametrize("verb", ["survey", "convert"])
def test_a_mistake_of_ours_with_one_job_hides_no_other(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [each.job for each in examples(map(str, range(99)))][:3]
    (tmp_path / "jobs.yaml").write_text("\n".join(map(json.dumps, jobs)))
    module = f"training_migration.{'survey.examined' if verb == 'survey' else 'verbs.convert.judged'}"
    real = resolve_name(module)

    def mistaken(*arguments: Any) -> Any:
        if any(getattr(each, "line", 0) == 2 for each in arguments):
            raise KeyError("field")
        return real(*arguments)

    monkeypatch.setattr(module, mistaken)
    result = CliRunner().invoke(migrate, [verb, str(tmp_path), "--target", "2.3"])
    assert result.exit_code == 2
    assert result.output.count(REPORT_IT) == 1
    assert "It cannot be read: KeyError: 'field' (test_mutated.py:" in result.output
    assert result.output.count("jobs.yaml:") >= 3
