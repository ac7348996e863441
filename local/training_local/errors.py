"""What a user has to mend."""

from __future__ import annotations


class BadInput(Exception):
    """What the user gave cannot be used; the message is one sentence for the user."""
