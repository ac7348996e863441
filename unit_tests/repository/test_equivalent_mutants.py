"""The mutants that are listed as equivalent are mutants of the code as it is."""

from __future__ import annotations

import yaml
from e2e.support.paths import ROOT

LISTED = yaml.safe_load((ROOT / "e2e" / "tools" / "equivalent_mutants.yaml").read_text())
FOLDERS = ("api", "controllers", "operator", "local", "migration")


def test_every_mutated_line_is_in_the_code() -> None:
    modules = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    lines = {line.strip() for path in modules for line in path.read_text().splitlines()}
    assert [each["was"] for each in LISTED if not lines.issuperset(map(str.strip, each["was"].splitlines()))] == []
    assert len(LISTED) > 10
