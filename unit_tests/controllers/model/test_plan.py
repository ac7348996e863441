from __future__ import annotations

from training_controllers.model.plan import EventType, JobEvent


def test_an_event_is_no_longer_than_kubernetes_allows_and_shows_no_controls() -> None:
    event = JobEvent(EventType.NORMAL, "R" * 129, "m\x1b" * 2000, once="k\x1b")
    assert (len(event.reason), len(event.message)) == (128, 1024)
    assert (event.message[:5], event.once) == ("m\\x1b", "k\\x1b")
    assert JobEvent(EventType.NORMAL, "R" * 128, "m").reason == "R" * 128
