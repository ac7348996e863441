from __future__ import annotations

from training_controllers.reconcile.turn import TURN_SECONDS, Turn


def test_a_turn_is_over_after_its_time_if_others_wait_and_stays_so() -> None:
    now, waiting = 100.0, True
    turn = Turn(lambda: now, lambda: waiting)
    assert not turn.is_over()
    now, waiting = 100 + TURN_SECONDS, False
    assert not turn.is_over()
    waiting = True
    assert turn.is_over()
    waiting = False
    assert turn.is_over()
