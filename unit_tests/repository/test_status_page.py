"""`docs/status.md` has no reason of an event that is gone; that none is missing, every simulated cluster sees."""

from __future__ import annotations

import re

import pytest
from e2e.support.paths import ROOT
from e2e.support.status_page import IN_WORDS_OF_OTHERS, event_reasons, is_documented, rows

from training_controllers.model.plan import WaitingReason

SOURCES = "".join(
    file.read_text()
    for folder in ("controllers/training_controllers", "operator/training_operator")
    for file in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("reason", sorted(event_reasons() - IN_WORDS_OF_OTHERS))
def test_the_operator_still_has_the_words_of_a_reason(reason: str) -> None:
    words = re.findall(r"[A-Z][a-z]+", re.sub(r"<\w+>|^mpijobs", "", reason))
    assert words
    assert [word for word in words if word not in SOURCES] == []


def test_a_reason_that_is_not_on_the_page_is_noticed() -> None:
    assert is_documented("PyTorchJobSucceeded")
    assert is_documented("FailedConfigMap")
    assert not is_documented("PyTorchJobSurprised")


def test_every_reason_to_wait_is_on_the_page_in_the_order_of_their_urgency() -> None:
    assert [row[0].strip("`") for row in rows("What a job waits for")] == list(WaitingReason)
