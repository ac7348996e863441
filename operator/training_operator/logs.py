"""Logging: structlog, as lines for users on a terminal and as JSON elsewhere (K-67); a line that fails fails alone."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

from training_api.printable import legible
from training_operator.settings import LogFormat, LogLevel

LEVELS: Final = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}
MOST_PARTS: Final = 100
"""Lines of a traceback, entries of a list: the last so many are shown."""
DEEPEST: Final = 8


def configure(form: LogFormat | None, level: LogLevel) -> None:
    """Send log lines of at least `level` to standard error; without `form`, the terminal decides.

    Tracebacks are without the values of variables: tokens and keys may be among them.
    Job objects appear as the fields `kind`, `namespace`, `name`; the standard library's loggers (aiohttp's) join in.
    """
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if form is None:
        form = LogFormat.CONSOLE if on_terminal else LogFormat.JSON
    if form is LogFormat.JSON:
        exceptions = structlog.processors.ExceptionRenderer(
            structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        )
        rendering: Processor = structlog.processors.JSONRenderer()
    else:
        exceptions = structlog.processors.ExceptionRenderer()
        rendering = structlog.dev.ConsoleRenderer(colors=on_terminal, exception_formatter=structlog.dev.plain_traceback)
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        exceptions,
        _bound,
        rendering,
    ]
    structlog.configure(
        processors=[_Unfailing(processors)],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, _Lossy(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_ToStructlog()], force=True)


class _Unfailing:
    """Processors, one after the other; a line that they cannot make becomes one that says so."""

    def __init__(self, processors: list[Processor]) -> None:
        self._processors = processors

    def __call__(self, logger: Any, method: str, event: EventDict) -> Any:
        made: Any = event
        try:
            for process in self._processors:
                made = process(logger, method, made)
        except Exception as error:  # a value that has no words, a traceback whose source cannot be opened
            return json.dumps(
                {"event": "a log line cannot be formatted", "level": method, "error": type(error).__name__}
            )
        return made


class _Lossy(io.TextIOBase):
    """A text file that takes what it can: the disk may be full, the file closed, its reader gone."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write `text`, or lose it."""
        with suppress(OSError, ValueError):
            if self._file is not None:
                self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Write out what waits, or lose it."""
        with suppress(OSError, ValueError):
            if self._file is not None:
                self._file.flush()


def _bound(_: Any, __: str, event: EventDict) -> EventDict:
    """Make everything that a line holds legible, a traceback line by line."""
    trace = event.pop("exception", None)
    found = {legible(key): _legible(value, DEEPEST) for key, value in event.items()}
    if isinstance(trace, str):
        found["exception"] = "\n".join(map(legible, trace.splitlines()[-MOST_PARTS:]))
    elif trace is not None:
        found["exception"] = _legible(trace, DEEPEST)
    return found


def _legible(value: object, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth:
        return {legible(str(key)): _legible(each, depth - 1) for key, each in list(value.items())[-MOST_PARTS:]}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_legible(each, depth - 1) for each in list(value)[-MOST_PARTS:]]
    return legible(value if isinstance(value, str) else repr(value))


class _ToStructlog(logging.Handler):
    """Passes the standard library's records on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log `record` with the name of its logger."""
        try:
            message = record.getMessage()
        except Exception:  # arguments that do not fit
            message = str(record.msg)
        log = structlog.get_logger().bind(logger=record.name)
        log.log(record.levelno, message, exc_info=record.exc_info)
