import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from training_operator import logs
from training_operator.settings import LogFormat, LogLevel


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.mark.shows("K-67")
def test_json_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(None, LogLevel.INFO)
    structlog.get_logger().bind(kind="PyTorchJob").info("hello", namespace="ns", name="sim")
    [line] = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "hello", "level": "info", "kind": "PyTorchJob", "namespace": "ns", "name": "sim"}


def test_lines_for_people_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure(None, LogLevel.INFO)
    structlog.get_logger().info("hello", name="sim")
    text = capsys.readouterr().err
    assert "hello" in text
    assert not text.startswith("{")


def test_the_format_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogFormat.CONSOLE, LogLevel.INFO)
    structlog.get_logger().info("hello")
    assert not capsys.readouterr().err.startswith("{")


def test_less_than_the_level_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogFormat.JSON, LogLevel.WARNING)
    log = structlog.get_logger()
    log.info("hello")
    log.warning("careful")
    assert [line["event"] for line in lines(capsys)] == ["careful"]


def test_a_crash_carries_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogFormat.JSON, LogLevel.INFO)
    try:
        raise ValueError("oops")
    except ValueError:
        structlog.get_logger().exception("crashed")
    [line] = lines(capsys)
    assert "ValueError" in json.dumps(line["exception"])


def test_the_standard_library_s_loggers_join_in(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(LogFormat.JSON, LogLevel.INFO)
    logging.getLogger("aiohttp.server").warning("odd: %s", "thing")
    logging.getLogger("aiohttp.server").info("not of interest")
    [line] = lines(capsys)
    assert (line["event"], line["logger"], line["level"]) == ("odd: thing", "aiohttp.server", "warning")


@pytest.mark.parametrize("form", LogFormat)
def test_a_traceback_shows_no_values(capsys: pytest.CaptureFixture[str], form: LogFormat) -> None:
    logs.configure(form, LogLevel.INFO)

    def fails(token: str) -> None:
        raise ValueError("oops")

    try:
        fails("".join(["hush", "-", "hush"]))
    except ValueError:
        structlog.get_logger().exception("it failed")
    text = capsys.readouterr().err
    assert "oops" in text
    assert "hush-hush" not in text
