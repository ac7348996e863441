"""Logs: kept as they come, read as `kubectl logs` wants them."""

from __future__ import annotations

import asyncio
import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import Cluster, entries, exists, pod
from structlog.testing import capture_logs

from training_local.apiserver.errors import ApiError
from training_local.apiserver.pods import LogOptions
from training_local.node.log_files import LogFiles, LogLimits, attempts
from training_local.node.logs import LogReader, LogWriter


async def written(directory: Path, *chunks: tuple[str, bytes], limits: LogLimits | None = None) -> LogWriter:
    """A finished log."""
    writer = LogWriter(LogFiles(directory, limits or LogLimits()), directory, 0)
    pipes = dict(zip(("stdout", "stderr"), writer.pipes(), strict=True))
    for stream, data in chunks:
        os.write(pipes[stream], data)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for pipe in pipes.values():
        os.close(pipe)
    await writer.finish(5)
    return writer


async def printed(files: LogFiles, directory: Path, attempt: int, count: int) -> None:
    """The log of a container that prints so many bytes, 50 a line with their heads."""
    writer = LogWriter(files, directory, attempt)
    out, err = writer.pipes()
    for _ in range(count // 500):
        os.write(out, b"0123456789\n" * 10)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    for pipe in (out, err):
        os.close(pipe)
    await writer.finish(5)


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
    limits = LogLimits(segment_bytes=500, container_bytes=3 * 4096)
    await written(tmp_path, *(("stdout", b"%d\n" % number) for number in range(100)), limits=limits)
    assert len(entries(tmp_path)) == 3
    numbers = [int(n) for n in (await read(tmp_path)).split()]
    assert numbers == list(range(numbers[0], 100))
    assert numbers[0] > 50


def kept(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*.log"))


async def test_all_attempts_of_a_container_stay_below_its_limit(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, LogLimits(segment_bytes=8192, container_bytes=65536))
    for attempt in range(10):
        await printed(files, tmp_path / "pod/main", attempt, 50_000)
    assert attempts(tmp_path / "pod/main") == [8, 9]
    assert kept(tmp_path) <= 65536


async def test_a_flood_leaves_the_end_of_the_attempt_before(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, LogLimits(segment_bytes=8192, container_bytes=65536))
    await printed(files, tmp_path / "pod/main", 0, 30_000)
    await printed(files, tmp_path / "pod/main", 1, 200_000)
    assert attempts(tmp_path / "pod/main") == [0, 1]
    assert kept(tmp_path) <= 65536


async def test_all_containers_stay_below_the_cluster_s_limit_and_few_words_stay(
    tmp_path: Path,
) -> None:
    files = LogFiles(tmp_path, LogLimits(segment_bytes=8192, total_bytes=131072))
    await printed(files, tmp_path / "quiet/main", 0, 30)
    for attempt in range(10):
        await printed(files, tmp_path / "a/main", attempt, 50_000)
        await printed(files, tmp_path / "b/main", attempt, 50_000)
        assert kept(tmp_path) <= 131072
    assert entries(tmp_path / "quiet/main") == ["0.log"]
    assert attempts(tmp_path / "a/main")[-1] == attempts(tmp_path / "b/main")[-1] == 9


async def test_the_logs_of_deleted_pods_go_first_and_those_of_an_earlier_node_count(tmp_path: Path) -> None:
    limits = LogLimits(segment_bytes=8192, total_bytes=131072)
    await printed(LogFiles(tmp_path, limits), tmp_path / "deleted/main", 0, 60_000)
    files = LogFiles(tmp_path, limits)
    await printed(files, tmp_path / "stays/main", 0, 60_000)
    files.gone(tmp_path / "deleted")
    await printed(files, tmp_path / "new/main", 0, 60_000)
    await printed(files, tmp_path / "newer/main", 0, 8_000)
    assert kept(tmp_path) <= 131072
    assert kept(tmp_path / "stays") > 60_000
    assert not exists(tmp_path / "deleted")


async def test_a_log_that_goes_while_it_is_read_ends(tmp_path: Path) -> None:
    files = LogFiles(tmp_path, LogLimits(segment_bytes=8192))
    await printed(files, tmp_path / "pod/main", 0, 40_000)
    reading = LogReader(tmp_path / "pod/main", 0, None).read(LogOptions("main"))
    await anext(reading)
    for attempt in (1, 2):
        await printed(files, tmp_path / "pod/main", attempt, 30)
    assert attempts(tmp_path / "pod/main") == [1, 2]
    assert len([line async for batch in reading for line in batch]) < 1000
    tail = LogReader(tmp_path / "pod/main", 0, None).read(LogOptions("main", tail_lines=3))
    assert [batch async for batch in tail] == []


async def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    writer = LogWriter(LogFiles(tmp_path, LogLimits()), tmp_path, 0)
    out, err = writer.pipes()
    os.close(err)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with capture_logs() as said:
        for number in range(6):
            if number == 2:  # writing beyond fails, as on a full disk
                resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "0.log").stat().st_size + 10, before[1]))
            if number == 4:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            os.write(out, b"line %d\n" % number)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    os.close(out)
    await writer.finish(5)
    assert [each["event"] for each in said] == ["the output of a container is lost: its log cannot be written"]
    assert (await read(tmp_path)).decode().split("\n") == ["line 0", "line 1", "line 4", "line 5", ""]


async def test_since_and_limit(tmp_path: Path) -> None:
    await written(tmp_path, ("stdout", b"hello\nworld\n"))
    assert await read(tmp_path, since_time="2100-01-01T00:00:00Z") == b""
    assert await read(tmp_path, since_seconds=3600) == b"hello\nworld\n"
    assert await read(tmp_path, limit_bytes=7) == b"hello\nw"


async def test_following_shows_everything_across_files_and_ends_with_the_process(tmp_path: Path) -> None:
    writer = LogWriter(LogFiles(tmp_path, LogLimits(segment_bytes=300)), tmp_path, 0)
    out, err = writer.pipes()
    following = asyncio.create_task(read(tmp_path, writer, follow=True))
    for number in range(50):
        os.write(out, b"%d\n" % number)
        await writer.change()
    os.close(out)
    os.close(err)
    await writer.finish(5)
    assert (await following).split() == [b"%d" % number for number in range(50)]


async def test_a_reader_that_does_not_read_delays_no_other(cluster: Cluster) -> None:
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
    assert attempts(folder) == [1, 2]


async def test_what_cannot_be_read_says_so(cluster: Cluster) -> None:
    await cluster.api.create("pods", pod("bare"))
    await cluster.api.until(lambda: any("no command" in event[3] for event in cluster.api.events))
    for words, previous in [
        ('container "main" in pod "bare" is waiting to start: CreateContainerConfigError', False),
        ('previous terminated container "main" in pod "bare" not found', True),
    ]:
        with pytest.raises(ApiError) as error:
            cluster.batches("bare", previous=previous)
        assert (error.value.code, str(error.value)) == (400, words)
