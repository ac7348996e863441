"""The message that a container leaves about its end."""

from __future__ import annotations

from pathlib import Path

from training_local.apiserver.pods import LogOptions
from training_local.node.logs import LogReader
from training_local.node.podspec import Container

_MOST_BYTES = 4096
_MOST_BYTES_OF_POD = 12 << 10
_MOST_LOG_BYTES = 2048
_MOST_LOG_LINES = 80


async def termination_message(
    container: Container, file: Path, logs: Path, attempt: int, *, failed: bool, sharing: int
) -> str:
    """The text that an attempt has left; `logs` is the folder of its logs, `sharing` how many containers the pod has.

    Limits as a kubelet's: 4,096 bytes, for all containers of a pod 12 KiB, from the log 2,048 bytes or 80 lines.
    """
    most = min(_MOST_BYTES, _MOST_BYTES_OF_POD // sharing)
    try:
        with file.open("rb") as opened:
            said = opened.read(most)
    except OSError:  # it has made something else of it
        said = b""
    if not said and failed and container.termination_message_policy == "FallbackToLogsOnError":
        log = LogReader(logs, attempt, None).read(LogOptions(container.name, tail_lines=_MOST_LOG_LINES))
        said = b"".join([line async for batch in log for line in batch])[-min(most, _MOST_LOG_BYTES) :]
    return said.decode(errors="replace")
