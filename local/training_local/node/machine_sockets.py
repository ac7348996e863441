"""What of the machine would lead a pod out of its sandbox through the file system: sockets and run-time folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_RUNTIME_FOLDERS: Final = ("/run", "/var/run")
_PATHNAME = 7
"""Column of the table in which a socket's name stands."""


def places(environment: Mapping[str, str], proc: Path = Path("/proc")) -> Iterator[str]:
    """Folders in which services listen, and whatever listens elsewhere: agents, container engines, display servers."""
    for folder in (*_RUNTIME_FOLDERS, environment.get("XDG_RUNTIME_DIR", "")):
        if folder and Path(folder).is_dir() and not Path(folder).is_symlink():
            yield folder
    try:
        table = (proc / "net/unix").read_text(errors="surrogateescape")
    except OSError:
        return
    names = {line.split(maxsplit=_PATHNAME)[_PATHNAME] for line in table.splitlines()[1:] if " /" in line}
    yield from sorted(names)
