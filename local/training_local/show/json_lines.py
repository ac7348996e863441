"""JSON lines, for programs: one object per line, `{"progress": ...}`, `{"log": ...}` or `{"notice": ...}`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TextIO

from training_api.models.common import rfc3339
from training_local.run.endings import Ending
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress, Replica, Waiting


class JsonView:
    """One JSON object per change and per log line; docs/local-cluster.md lists the fields."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._usage: Mapping[str, Usage] = {}
        self._notice = ""

    def progress(self, progress: JobProgress) -> None:
        """Print how the job and its replicas stand."""
        self._print({"progress": progress_json(progress, self._usage)})

    def line(self, line: LogLine) -> None:
        """Print the line with the pod it comes from."""
        self._print({"log": log_json(line)})

    def usage(self, usage: Mapping[str, Usage]) -> None:
        """Keep it for the next progress."""
        self._usage = usage

    def notice(self, text: str) -> None:
        """Print the sentence if it is not the last one."""
        if text and text != self._notice:
            self._print({"notice": text})
        self._notice = text

    def _print(self, value: object) -> None:
        print_json(value, self._out)


def print_json(value: object, out: TextIO | None = None) -> None:
    """Print one line; nothing but ASCII, so that no terminal and no encoding can be upset."""
    print(json.dumps(value), file=out or sys.stdout, flush=True)


def progress_json(progress: JobProgress, usage: Mapping[str, Usage]) -> dict[str, Any]:
    """Return the fields of `progress`."""
    return {
        "state": progress.state,
        "outcome": progress.outcome,
        "conditions": [dict(condition) for condition in progress.conditions],
        "restarts": progress.restarts,
        "backoffLimit": progress.backoff_limit,
        "suspended": progress.suspended,
        "waiting": _waiting(progress.waiting),
        "replicas": [_replica(replica, usage.get(replica.pod)) for replica in progress.replicas],
    }


def log_json(line: LogLine) -> dict[str, Any]:
    """Return the fields of `log`."""
    return {"pod": line.replica.pod, "replica": line.replica.short_name, "time": line.stamp, "text": line.text}


def ending_json(ending: Ending | None) -> dict[str, Any] | None:
    """Return the fields of `lastEnd`."""
    if ending is None:
        return None
    return {
        "exitCode": ending.exit_code,
        "signal": ending.signal_name or None,
        "reason": ending.reason,
        "message": ending.message,
        "finishedAt": _time(ending.finished_at),
    }


def _replica(replica: Replica, usage: Usage | None) -> dict[str, Any]:
    return {
        "pod": replica.pod,
        "replica": replica.short_name,
        "type": replica.replica_type,
        "index": replica.index,
        "phase": replica.phase,
        "rank": replica.rank,
        "restarts": replica.restarts,
        "waiting": _waiting(replica.waiting),
        "lastEnd": ending_json(replica.last_end),
        "createdAt": _time(replica.created_at),
        "cpu": usage.cpu if usage else None,
        "memory": usage.memory if usage else None,
    }


def _waiting(waiting: Waiting | None) -> dict[str, str] | None:
    return {"reason": waiting.reason, "message": waiting.message} if waiting else None


def _time(moment: datetime | None) -> str | None:
    return rfc3339(moment) if moment else None
