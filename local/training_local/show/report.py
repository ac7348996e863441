"""What is said at the end of a job that did not succeed: the first cause, its last words, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from rich.text import Text

from training_api.printable import legible, printable
from training_local.run.cause import Failure
from training_local.run.progress import JobProgress, JobRef, Replica
from training_local.show.colours import colour_of
from training_local.show.json_lines import ending_json

PROGRAM: Final = "training-operator"
KEEP: Final = "--keep"


def failure_report(
    job: JobRef,
    progress: JobProgress,
    first: Failure | None,
    others: int,
    last_lines: Sequence[str],
    *,
    remarks: Sequence[str] = (),
) -> Text:
    """Return which replica failed first and of what, its last lines, and the message of the job's condition.

    `others` is how many failures came after the first, `remarks` is what its pod lacks on this machine.
    """
    report = Text()
    if first is not None:
        report.append("First cause: ", "bold red")
        report.append(f"{legible(first.sentence)}\n")
        if others:
            report.append(f"  {others} more failure{'s' if others > 1 else ''} followed it\n", "dim")
        for line in last_lines:
            report.append(f"  {first.replica.short_name} | ", colour_of(first.replica))
            report.append(f"{printable(line)}\n")
        if not last_lines and first.ending.started:
            report.append("  it has no output\n", "dim")
        for remark in remarks:
            report.append(f"  Warning: {legible(remark)}\n", "yellow")
    if progress.outcome:
        report.append(f"{job} {progress.outcome}: {legible(progress.message)}\n")
    elif progress.gone:
        report.append(f"{job} was deleted before it had finished\n")
    return report


def next_steps(arguments: Sequence[str], first: Failure | None) -> Text:
    """Return the commands that run the same again, and that look inside; `arguments` are those of this program."""
    said: list[str | tuple[str, str]] = [("To run it again: ", "dim"), f"{shlex.join([PROGRAM, *arguments])}\n"]
    if list(arguments[:2]) == ["local", "run"] and KEEP not in arguments:
        kept = [PROGRAM, *arguments[:2], KEEP, *arguments[2:]]
        said += [("To keep the cluster for kubectl: ", "dim"), f"{shlex.join(kept)}\n"]
    if first is not None and first.ending.started:
        enter = f"{PROGRAM} local shell {first.replica.short_name}\n"
        said += [("To look inside while it runs, from another terminal: ", "dim"), enter]
    return Text.assemble(*said)


def unfinished(progress: JobProgress) -> str:
    """Say in one sentence how the replicas of a job stand that has not ended."""
    phases = Counter(replica.stands for replica in progress.replicas)
    counted = ", ".join(f"{count} {phase}" for phase, count in phases.items()) or "no replica exists"
    waiting = next((_waits(r) for r in progress.replicas if r.waiting and not r.waiting.harmless), "")
    return f"it is {progress.state or 'not begun'}: {counted}{waiting}"


def _waits(replica: Replica) -> str:
    return f"; {replica.short_name} waits: {legible(str(replica.waiting))}"


def failure_json(first: Failure | None, others: int, last_lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the fields of `firstCause`; None if nothing failed."""
    if first is None:
        return None
    return {
        "pod": first.replica.pod,
        "replica": first.replica.short_name,
        "container": first.container,
        "attempt": first.attempt,
        "end": ending_json(first.ending),
        "sentence": first.sentence,
        "othersFailed": others,
        "lastLines": list(last_lines),
    }
