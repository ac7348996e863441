"""Giving the API server the logs of the node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from time import time

from training_local.apiserver.errors import ApiError, Json
from training_local.apiserver.pods import LogOptions
from training_local.node.ports import LogError, LogQuery, LogSource


class NodeLogs:
    """The API server's source of logs, on top of a node's."""

    def __init__(self, node: LogSource) -> None:
        self._node = node

    async def lines(self, pod: Json, options: LogOptions) -> AsyncIterator[list[bytes]]:
        """Yield batches of lines; raises `ApiError` if there is no such log."""
        metadata = pod["metadata"]
        container = options.container or pod["spec"]["containers"][0]["name"]
        try:
            chunks = await self._node.logs(metadata["namespace"], metadata["name"], container, _query(options))
        except LogError as error:
            raise ApiError(error.code, "BadRequest" if error.code == 400 else "NotFound", str(error)) from None
        rest = b""
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield [line + b"\n" for line in lines]
        if rest:
            yield [rest]


def _query(options: LogOptions) -> LogQuery:
    since = None
    if options.since_seconds is not None:
        since = time() - options.since_seconds
    elif options.since_time:
        since = datetime.fromisoformat(options.since_time).timestamp()
    return LogQuery(
        follow=options.follow,
        previous=options.previous,
        timestamps=options.timestamps,
        tail_lines=options.tail_lines,
        since_time=since,
        limit_bytes=options.limit_bytes,
    )
