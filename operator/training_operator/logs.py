"""Logging: structlog, as lines for people on a terminal and as JSON elsewhere (K-67)."""

from __future__ import annotations

import logging
import sys
from typing import Final

import structlog

from training_operator.settings import LogFormat, LogLevel

LEVELS: Final = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}


def configure(form: LogFormat | None, level: LogLevel) -> None:
    """Send log lines of at least `level` to standard error; without `form`, the terminal decides.

    Tracebacks are without the values of variables: tokens and keys may be among them.
    Job objects appear as the fields `kind`, `namespace`, `name`; the standard library's loggers (aiohttp's) join in.
    """
    if form is None:
        form = LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form is LogFormat.JSON:
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        shared += [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer()]
    else:
        tracebacks_of_lines = structlog.dev.RichTracebackFormatter(show_locals=False)
        shared += [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=tracebacks_of_lines)]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_ToStructlog()], force=True)


class _ToStructlog(logging.Handler):
    """Passes the standard library's records on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log `record` with the name of its logger."""
        log = structlog.get_logger().bind(logger=record.name)
        log.log(record.levelno, record.getMessage(), exc_info=record.exc_info)
