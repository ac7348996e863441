"""`docs/status.md` has every reason to wait, in the order of their urgency."""

from __future__ import annotations

import re

from e2e.support.paths import ROOT

from training_controllers.model.plan import WaitingReason


def test_every_reason_to_wait_is_on_the_page_in_the_order_of_their_urgency() -> None:
    section = (ROOT / "docs" / "status.md").read_text().split("## What a job waits for\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(WaitingReason)
