"""What a user has to mend."""

from __future__ import annotations


class BadInput(Exception):
    """What the user gave cannot be used; the message is one sentence for the user."""


def innermost(error: BaseException) -> BaseException:
    """Return the error inside the groups into which the parts of the cluster wrap it."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
