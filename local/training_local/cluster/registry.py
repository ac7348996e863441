"""The clusters of this user: each has a folder, and in it a lock that it holds for as long as it lives.

    STATE/clusters/NAME/lock           locked by the cluster; its content is the cluster's id and process id
                        cluster.json   the record, written when the cluster is up
                        ...            kubeconfig, log, logs and volumes of pods

STATE is `$TRAINING_OPERATOR_STATE`, else `$XDG_STATE_HOME/training-operator`, else `~/.local/state/training-operator`.
The kernel releases a lock with the process that held it, so no process id decides which cluster is running; it only
distinguishes a cluster from its children.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from training_local import locks
from training_local.cluster.cleanup import remove_leftovers, remove_tree
from training_local.errors import BadInput

STATE_VARIABLE: Final = "TRAINING_OPERATOR_STATE"
DEFAULT_NAME: Final = "default"
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PAUSE_SECONDS: Final = 0.05
_FORK_SECONDS: Final = 2.0
"""A child needs a fraction of this between its start and that of its program."""
_LOCK: Final = "lock"
_RECORD: Final = "cluster.json"
OTHER_STATE: Final = f"set {STATE_VARIABLE} to a folder of your own"


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """What others need to know of a running cluster."""

    name: str
    pid: int
    url: str
    kubeconfig: Path
    started_at: datetime
    sandbox: str
    """How pods are kept apart: `netns` or `host`."""
    data: Path | None = None
    """Where its objects are kept; None if they end with it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A name that this process holds, and the folder that goes with it."""

    name: str
    id: str
    """Different for every start; marks what belongs to this cluster outside its folder."""
    folder: Path

    def announce(self, record: ClusterRecord) -> None:
        """Let others find the cluster: it is up."""
        unfinished = self.folder / f".{_RECORD}"
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(msgspec.json.encode(record, enc_hook=str))
        unfinished.replace(self.folder / _RECORD)


def random_name(prefix: str) -> str:
    """Return a name that no other cluster has, beginning with `prefix`."""
    return f"{prefix}-{secrets.token_hex(4)}"


def find(name: str | None) -> ClusterRecord:
    """Return the running cluster `name`; None means the only one, else the one called `default`.

    Raises `BadInput` if there is no such cluster.
    """
    if name is not None:
        check_name(name)
    known = {record.name: record for record in running()}
    wanted = name or (next(iter(known)) if len(known) == 1 else DEFAULT_NAME)
    if wanted in known:
        return known[wanted]
    names = ", ".join(known)
    if name is None and known:
        raise BadInput(f"several clusters are running ({names}), none is called {DEFAULT_NAME}: specify one")
    if not known:
        what = f"no cluster {name} is running" if name else "no cluster is running"
        raise BadInput(f"{what}; `training-operator local up --detach` starts one")
    raise BadInput(f"no cluster {name} is running; running: {names}")


def running() -> list[ClusterRecord]:
    """Return the clusters of this user that are up, by name."""
    folder = state_folder() / "clusters"
    if not folder.is_dir():
        return []
    check_private(folder, OTHER_STATE)
    with _locked(folder):
        live = [each for each in sorted(folder.iterdir()) if _alive(each)]
        return [record for each in live if (record := _read(each / _RECORD))]


async def end(record: ClusterRecord, patience: float) -> bool:
    """Ask a cluster to end and wait until it has; False if it takes more than `patience` seconds.

    Raises `BadInput` if its process is not to be seen from here.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience
    if record in running():
        if not _holds(record.pid, record.kubeconfig.with_name(_LOCK)):
            raise BadInput(f"cluster {record.name} runs in another container of this machine; stop it there")
        os.kill(record.pid, signal.SIGTERM)
    while record in running():
        if clock() > deadline:
            return False
        await asyncio.sleep(_PAUSE_SECONDS)
    return True


@contextmanager
def claimed(name: str) -> Iterator[Claim]:
    """Hold a cluster's name inside the context; before, what dead clusters have left is removed.

    Raises `BadInput` if the name is taken or no name at all, or if others could read the folder.
    """
    check_name(name)
    clusters = _clusters()
    with _locked(clusters):
        for each in clusters.iterdir():
            if each.is_dir() and not _lives_on(each):
                remove_leftovers(each, _owner(each)[0])
        folder = clusters / name
        if _alive(folder):
            raise BadInput(f"a cluster {name} is already running; use --name for another one")
        if folder.exists():
            raise BadInput(f"processes of an earlier cluster {name} do not end; use --name for another one")
        folder.mkdir(mode=0o700)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        locks.take(lock)
        claim = Claim(name, secrets.token_hex(8), folder)
        os.write(lock, f"{claim.id} {os.getpid()}".encode())
    try:
        yield claim
    finally:
        with _locked(clusters):  # else another cluster could take the name while its folder is being removed
            remove_tree(folder)
            os.close(lock)


def state_folder() -> Path:
    """Return the folder of everything that this program keeps for the user."""
    if given := os.environ.get(STATE_VARIABLE):
        return Path(given).absolute()
    if (base := Path(os.environ.get("XDG_STATE_HOME", ""))).is_absolute():
        return base / "training-operator"
    try:
        return Path.home() / ".local/state/training-operator"
    except RuntimeError:
        raise BadInput(f"there is no home folder; {OTHER_STATE}") from None


def check_name(name: str) -> None:
    """Raise `BadInput` unless `name` can be a cluster's: an RFC 1123 label."""
    if not _LABEL.fullmatch(name):
        raise BadInput(
            f"--name {name}: must be at most 63 lower case letters, digits and '-', "
            "with a letter or digit at both ends, for example exp-2"
        )


def check_private(folder: Path, advice: str) -> None:
    """Raise `BadInput` if another user may read `folder` or put something into it."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise BadInput(f"{folder} belongs to another user; {advice}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise BadInput(f"{folder} is open to other users; `chmod 700 {folder}` closes it, or {advice}")


def _clusters() -> Path:
    state = state_folder()
    clusters = state / "clusters"
    for folder in (state, clusters):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot be made: {error.strerror}; {OTHER_STATE}") from None
        check_private(folder, OTHER_STATE)
    return clusters


@contextmanager
def _locked(clusters: Path) -> Iterator[None]:
    """Exclude other commands: a lock held to look whether a cluster is running would look like that of a cluster."""
    descriptor = os.open(clusters / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        locks.take(descriptor)
        yield
    finally:
        os.close(descriptor)


def _alive(folder: Path) -> bool:
    return locks.held(folder / _LOCK)


def _lives_on(folder: Path) -> bool:
    """Whether a cluster lives, and not only a child of it that it had just forked when it was killed.

    Such a child holds the lock until it executes its program.
    """
    deadline = time.monotonic() + _FORK_SECONDS
    while _alive(folder):
        if _holds(_owner(folder)[1], folder / _LOCK) or time.monotonic() > deadline:
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


def _holds(pid: int, lock: Path) -> bool:
    """Whether a process has the lock open; a process id means another process in another process-id namespace.

    Where there is no `/proc`, as on macOS, there are no such namespaces either.
    """
    if not Path("/proc/self/fd").exists():
        return True
    with suppress(OSError):
        wanted = lock.stat()
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.path.samestat(descriptor.stat(), wanted):
                    return True
    return False


def _owner(folder: Path) -> tuple[str, int]:
    """The id of a cluster and of its process; an empty one if it was killed before it could write them."""
    with suppress(FileNotFoundError, ValueError):
        cluster, pid = (folder / _LOCK).read_text().split()
        return cluster, int(pid)
    return "", 0


def _read(file: Path) -> ClusterRecord | None:
    """Return the record; None while the cluster is still starting."""
    with suppress(FileNotFoundError):
        return msgspec.json.decode(file.read_bytes(), type=ClusterRecord, dec_hook=lambda kind, text: kind(text))
    return None
