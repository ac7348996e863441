"""docs/differences-from-v1.md names what is declared; that it is complete no test can say."""

from __future__ import annotations

import re

from e2e.support.paths import ROOT

from training_api.registry import KINDS

PAGE = (ROOT / "docs" / "differences-from-v1.md").read_text()


def row(what: str) -> str:
    [cell] = re.findall(rf"^\| {what} .*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    return str(cell)


def test_short_names() -> None:
    assert re.findall(r"`(\w+)`", row("short names")) == [name for info in KINDS.values() for name in info.short_names]


def test_order_of_replica_types() -> None:
    documented = re.sub(r", then ", ", ", row("order of replica types"))
    assert all(", ".join(info.replica_types) in documented for info in KINDS.values())
