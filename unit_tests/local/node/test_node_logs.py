"""Logs: kept as they come, read as `kubectl logs` wants them."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import Cluster, entries, pod

from training_local.apiserver.errors import ApiError
from training_local.apiserver.pods import LogOptions
from training_local.node.logs import LogLimits, LogReader, LogWriter, attempts


async def written(directory: Path, *chunks: tuple[str, bytes], limits: LogLimits | None = None) -> LogWriter:
    """A finished log."""
    writer = LogWriter(directory, 0, limits or LogLimits())
    pipes = dict(zip(("stdout", "stderr"), writer.pipes(), strict=True))
    for stream, data in chunks:
        os.write(pipes[stream], data)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for pipe in pipes.values():
        os.close(pipe)
    await writer.finish(5)
    return writer


async def read(directory: Path, writer: LogWriter | None = None, **options: Any) -> bytes:
    batches = LogReader(directory, 0, writer).read(LogOptions("main", **options))
    return b"".join([line async for batch in batches for line in batch])


async def test_lines_and_parts_of_lines_come_back_unchanged(tmp_path: Path) -> None:
    chunks = [
        ("stdout", b"one\ntw"),
        ("stderr", b"err\r\n"),
        ("stdout", b"o\n\n"),
        ("stdout", b"x" * 40_000 + b"\nend"),
    ]
    await written(tmp_path, *chunks)
    said = await read(tmp_path)
    assert sorted(said.split(b"\n")) == sorted([b"one", b"err\r", b"two", b"", b"x" * 40_000, b"end"])


async def test_timestamps_stand_before_lines_only(tmp_path: Path) -> None:
    await written(tmp_path, ("stdout", b"short\n" + b"y" * 40_000 + b"\n"))
    lines = (await read(tmp_path, timestamps=True)).decode().splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ", "", line) for line in lines] == ["short", "y" * 40_000]


@pytest.mark.parametrize(("tail", "first"), [(0, None), (1, 99), (5, 95), (1000, 0)])
async def test_tail_across_files(tmp_path: Path, tail: int, first: int | None) -> None:
    limits = LogLimits(segment_bytes=500)
    await written(tmp_path, *(("stdout", b"%d\n" % number) for number in range(100)), limits=limits)
    assert len(entries(tmp_path)) > 3
    expected = [] if first is None else [str(number) for number in range(first, 100)]
    assert (await read(tmp_path, tail_lines=tail)).decode().split() == expected


async def test_the_oldest_files_go_first(tmp_path: Path) -> None:
    limits = LogLimits(segment_bytes=500, segments=3)
    await written(tmp_path, *(("stdout", b"%d\n" % number) for number in range(100)), limits=limits)
    assert len(entries(tmp_path)) == 3
    numbers = [int(n) for n in (await read(tmp_path)).split()]
    assert numbers == list(range(numbers[0], 100))
    assert numbers[0] > 50


async def test_since_and_limit(tmp_path: Path) -> None:
    await written(tmp_path, ("stdout", b"hello\nworld\n"))
    assert await read(tmp_path, since_time="2100-01-01T00:00:00Z") == b""
    assert await read(tmp_path, since_seconds=3600) == b"hello\nworld\n"
    assert await read(tmp_path, limit_bytes=7) == b"hello\nw"


async def test_following_shows_everything_across_files_and_ends_with_the_process(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, 0, LogLimits(segment_bytes=300))
    out, err = writer.pipes()
    following = asyncio.create_task(read(tmp_path, writer, follow=True))
    for number in range(50):
        os.write(out, b"%d\n" % number)
        await writer.change()
    os.close(out)
    os.close(err)
    await writer.finish(5)
    assert (await following).split() == [b"%d" % number for number in range(50)]


async def test_a_reader_that_does_not_read_holds_nobody_up(cluster: Cluster) -> None:
    lines = 20_000
    await cluster.api.create("pods", pod("chatty", "sh", "-c", f"yes 0123456789abcdef | head -{lines}"))
    await cluster.api.until(lambda: cluster.api.phase("chatty") in ("Running", "Succeeded"))
    stream = cluster.batches("chatty", follow=True)
    first = await anext(stream)  # and then nothing more is read for a while
    assert (await cluster.api.ended("chatty"))["phase"] == "Succeeded"
    rest = [line async for batch in stream for line in batch]
    assert [*first, *rest] == [b"0123456789abcdef\n"] * lines


async def test_attempts_are_kept_apart(cluster: Cluster) -> None:
    directory = cluster.state / "pods"
    env = [{"name": "DIR", "value": "/logs"}]
    container = {"env": env, "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}
    volumes = [{"name": "logs", "hostPath": {"path": str(cluster.state.parent / "seen"), "type": "DirectoryOrCreate"}}]
    script = "n=$(ls $DIR | wc -l); touch $DIR/$n; echo attempt $n; exit $((2 - n))"
    spec = {"restartPolicy": "OnFailure", "volumes": volumes}
    status = await cluster.run("trying", "sh", "-c", script, container=container, **spec)
    assert status["containerStatuses"][0]["restartCount"] == 2
    assert await cluster.log("trying") == "attempt 2\n"
    assert await cluster.log("trying", previous=True) == "attempt 1\n"
    (folder,) = directory.glob("default_trying_*/main")
    assert attempts(folder) == [0, 1, 2]


async def test_what_cannot_be_read_says_so(cluster: Cluster) -> None:
    await cluster.api.create("pods", pod("bare"))
    await cluster.api.until(lambda: any("no command" in event[3] for event in cluster.api.events))
    for words, options in [
        ('container "main" in pod "bare" is waiting to start: CreateContainerConfigError', {}),
        ('previous terminated container "main" in pod "bare" not found', {"previous": True}),
    ]:
        with pytest.raises(ApiError) as error:
            cluster.batches("bare", **options)
        assert (error.value.code, str(error.value)) == (400, words)
