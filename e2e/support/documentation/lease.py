"""The figures of leader election, from the code that follows them."""

from __future__ import annotations

from e2e.support.documentation.table import table

from training_operator import leader


def lease() -> str:
    """What happens to the lease how often."""
    rows = (
        ("a lease that nobody renews may be taken after", f"{leader.LEASE_SECONDS:g} s"),
        ("the leader renews every", f"{leader.RETRY_SECONDS:g} s"),
        ("a leader that could not renew gives up after", f"{leader.RENEW_SECONDS:g} s, before anybody else may lead"),
        ("one attempt to take or renew it lasts at most", f"{leader.ATTEMPT_SECONDS:g} s"),
        ("others look at it every", f"{leader.LOOK_SECONDS:g} s, plus up to {leader.JITTER:.0%} by chance"),
    )
    return table(("", ""), rows)
