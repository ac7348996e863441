"""What the API server has noted of the replicas' writes: who, what, from when to when."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from e2e.harness.json_lines import json_lines

ACCOUNTS = "system:serviceaccounts:replicas"
"""The group of all replicas: each one has an account in this namespace."""
WRITES = ["create", "update", "patch", "delete"]
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Request", "resources": [{"group": "coordination.k8s.io"}], "userGroups": [ACCOUNTS]},
        {"level": "Metadata", "verbs": WRITES, "userGroups": [ACCOUNTS]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Write:
    """One write that the server has carried out."""

    replica: str
    what: str
    received: datetime
    answered: datetime
    takes: bool
    """Whether it writes the lease for its replica; one that gives it back does not."""


def server_flags(folder: Path) -> tuple[str, ...]:
    """Flags of an API server that notes the replicas' writes in a folder, each before it is answered."""
    policy = folder / "policy.json"
    policy.write_text(json.dumps(POLICY))
    return f"--audit-policy-file={policy}", f"--audit-log-path={log_in(folder)}", "--audit-log-mode=blocking"


def log_in(folder: Path) -> Path:
    """The audit log."""
    return folder / "audit.log"


def noted_so_far(folder: Path) -> int:
    """How much there is in the log, in bytes: what comes later can be read without the rest."""
    return log_in(folder).stat().st_size


def writes(folder: Path, since: int = 0) -> list[Write]:
    """All writes that are noted after so many bytes, in the order of their arrival."""
    return sorted(_writes(folder, since), key=lambda write: write.received)


def _writes(folder: Path, since: int) -> Iterator[Write]:
    for entry in json_lines(log_in(folder), since):
        if entry["verb"] not in WRITES or entry.get("responseStatus", {}).get("code", 500) >= 300:
            continue
        where = entry["objectRef"]
        names = (where["resource"], where.get("name", ""), where.get("subresource", ""))
        holder = entry.get("requestObject", {}).get("spec", {}).get("holderIdentity", "")
        yield Write(
            entry["user"]["username"].rpartition(":")[2],
            " ".join([entry["verb"], "/".join(filter(None, names))]),
            datetime.fromisoformat(entry["requestReceivedTimestamp"]),
            datetime.fromisoformat(entry["stageTimestamp"]),
            bool(holder),
        )


def first_write(noted: list[Write], replica: str) -> Write | None:
    """The first write of a replica for jobs."""
    return next((each for each in noted if each.replica == replica and "leases" not in each.what), None)


def taken(noted: list[Write], replica: str) -> Write | None:
    """The write by which a replica took the lease."""
    return next((each for each in noted if each.replica == replica and each.takes), None)


def late(noted: list[Write], old: str, new: str) -> list[Write]:
    """Writes of the old leader that came after the new one had taken the lease; there must be none."""
    change = taken(noted, new)
    return [each for each in noted if change and each.replica == old and each.received > change.answered]


def crossing(noted: list[Write], old: str, new: str) -> list[Write]:
    """Writes of the old leader that the server had before the lease was taken and answered afterwards."""
    change = taken(noted, new)
    on_the_way = (each for each in noted if change and each.received <= change.answered < each.answered)
    return [each for each in on_the_way if each.replica == old]
