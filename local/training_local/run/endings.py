"""How a container ended, in words."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

FIRST_SIGNAL: Final = 128
"""A process that a signal ended has exit code 128 plus the signal's number."""

_NEVER_STARTED: Final = ("StartError", "ContainerCannotRun")
"""Reasons of a container runtime that could not execute the command."""

_SIGNALS: Final = {
    "SIGKILL": "was killed with SIGKILL",
    "SIGSEGV": "crashed with SIGSEGV: invalid memory access",
    "SIGBUS": "crashed with SIGBUS: its memory or shared memory (/dev/shm) is exhausted or its file was cut",
    "SIGABRT": "aborted with SIGABRT",
    "SIGTERM": "was terminated with SIGTERM",
    "SIGINT": "was interrupted with SIGINT",
}
_CODES: Final = {
    126: "ended with exit code 126: its command cannot be executed",
    127: "ended with exit code 127: its command was not found",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one attempt of a container, or of a whole pod (then `exit_code` is None)."""

    exit_code: int | None
    reason: str = ""
    message: str = ""
    signal: int = 0
    finished_at: datetime | None = None
    started_at: datetime | None = field(default=None, compare=False)

    @property
    def failed(self) -> bool:
        """Whether it is a failure."""
        return self.exit_code != 0

    @property
    def started(self) -> bool:
        """Whether there was a process at all."""
        return self.exit_code is not None and self.reason not in _NEVER_STARTED

    @property
    def signal_name(self) -> str:
        """Name of the signal that ended the process; empty if none did."""
        number = self.signal or (self.exit_code or 0) - FIRST_SIGNAL
        try:
            return signal.Signals(number).name
        except ValueError:
            return ""

    @property
    def brief(self) -> str:
        """A few words for a table: `0 Completed`, `137 SIGKILL`, `137 OOMKilled`, `Evicted`."""
        if self.exit_code is None:
            return self.reason or "Failed"
        cause = self.signal_name if self.reason in ("", "Error") else self.reason
        return f"{self.exit_code} {cause or self.reason}".strip()

    @property
    def sentence(self) -> str:
        """What happened, to stand behind the name of the replica or container."""
        detail = f": {self.message}" if self.message else ""
        code = f"exit code {self.exit_code}"
        if self.exit_code is None:
            return f"failed ({self.reason or 'no reason given'}){detail}"
        if self.reason in _NEVER_STARTED:
            return f"could not be started{detail or f' ({code})'}"
        if self.reason == "OOMKilled":
            return f"used more memory than its limit and was killed (OOMKilled, {code})"
        if self.exit_code in _CODES:
            return _CODES[self.exit_code] + detail
        if name := self.signal_name:
            return f"{_SIGNALS.get(name, f'was ended by {name}')} ({code}){detail}"
        return f"exited with code {self.exit_code}{detail}"


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """The end of one attempt of one container of a pod."""

    container: str
    init: bool
    attempt: int
    """0 for the first."""
    ending: Ending


def container_ends(pod_status: Mapping[str, Any]) -> list[ContainerEnd]:
    """Return the ends in a pod's status: of each container the current one or the last one, or both."""
    ends = []
    for statuses, init in (("containerStatuses", False), ("initContainerStatuses", True)):
        for status in pod_status.get(statuses) or ():
            state, last = status.get("state") or {}, status.get("lastState") or {}
            restarts = int(status.get("restartCount") or 0)
            if ended := last.get("terminated"):
                # The count rises with the next start: until then the last attempt has the current number.
                attempt = restarts if "waiting" in state else restarts - 1
                ends.append(ContainerEnd(status["name"], init, max(attempt, 0), _ending(ended)))
            if ended := state.get("terminated"):
                ends.append(ContainerEnd(status["name"], init, restarts, _ending(ended)))
    return ends


def _ending(terminated: Mapping[str, Any]) -> Ending:
    return Ending(
        int(terminated["exitCode"]),
        terminated.get("reason") or "",
        (terminated.get("message") or "").strip(),
        int(terminated.get("signal") or 0),
        moment(terminated.get("finishedAt")),
        moment(terminated.get("startedAt")),
    )


def moment(timestamp: object) -> datetime | None:
    """Read a timestamp of the API; None where there is none."""
    return datetime.fromisoformat(timestamp) if isinstance(timestamp, str) and timestamp else None
