"""The figures of leader election, from the code that follows them."""

from __future__ import annotations

from e2e.support.documentation.table import table

from training_operator import leader


def lease() -> str:
    """What happens to the lease how often."""
    rows = (
        ("a Lease that is not renewed may be acquired after", f"{leader.LEASE_SECONDS:g} s"),
        ("the leader renews it every", f"{leader.RETRY_SECONDS:g} s"),
        ("a leader that cannot renew it exits after", f"{leader.RENEW_SECONDS:g} s, before another replica may lead"),
        ("an attempt to acquire or renew it takes at most", f"{leader.ATTEMPT_SECONDS:g} s"),
        ("standbys check it every", f"{leader.LOOK_SECONDS:g} s, plus up to {leader.JITTER:.0%} at random"),
    )
    return table(("", ""), rows)
