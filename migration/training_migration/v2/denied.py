"""Why v2 would not run a TrainJob."""

from __future__ import annotations


class Denied(ValueError):
    """What admission rejects, of the TrainJob itself or of the JobSet that is made of it; the text is one sentence."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class NotPredicted(Denied):
    """v2 may well run it, but what it makes of it is not known here."""
