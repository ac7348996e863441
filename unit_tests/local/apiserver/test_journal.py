"""State that survives: restarts, kills, folders that cannot be used, disks that are full."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from e2e.support.api_client import Client
from e2e.support.profiles import tries
from e2e.support.widgets import WIDGETS, widget
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from training_local.apiserver.crd import crd_types
from training_local.apiserver.journal import FORMAT, Journal, JournalError
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGET_OBJECTS = "/apis/fidelity.example.com/v1/namespaces/default/widgets"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Json = dict[str, Any]


@contextmanager
def life(folder: Path, rng: Random | None = None) -> Iterator[Client]:
    """A server on the state in `folder`, without background work."""
    with Journal.open(folder) as journal:
        yield Client(ApiServer(BUILTIN, crd_types, now=lambda: NOON, rng=rng, journal=journal))


async def everything(client: Client, path: str = CONFIG_MAPS) -> tuple[list[Json], str]:
    status, listed = await client.call("GET", path)
    assert status == 200
    return listed["items"], listed["metadata"]["resourceVersion"]


async def test_versions_never_go_back_not_even_after_deletions(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.create(CONFIG_MAPS, "a")
        await client.call("DELETE", f"{CONFIG_MAPS}/a")
        _, version = await everything(client)
    with life(tmp_path) as client:
        created = await client.create(CONFIG_MAPS, "a")
    assert int(created["metadata"]["resourceVersion"]) == int(version) + 1


async def test_types_of_definitions_are_served_from_the_first_request_on(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        async with client.server.running():
            assert (await client.call("POST", DEFINITIONS, WIDGETS))[0] == 201
            async with client.watch(DEFINITIONS) as events:
                async for event in events:
                    if event["object"].get("status", {}).get("acceptedNames", {}).get("kind") == "Widget":
                        break
            assert (await client.call("POST", WIDGET_OBJECTS, widget("w")))[0] == 201
    with life(tmp_path) as client:
        assert await client.names(WIDGET_OBJECTS) == ["w"]


async def test_a_watch_from_before_the_restart_has_to_list_again(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        _, old = await everything(client)
        await client.create(CONFIG_MAPS, "a")
    with life(tmp_path) as client:
        _, version = await everything(client)
        async with client.watch(CONFIG_MAPS, resourceVersion=old) as events:
            assert (await anext(events))["object"]["code"] == 410
        async with client.watch(CONFIG_MAPS, resourceVersion=version) as events:
            await client.create(CONFIG_MAPS, "b")
            assert (await anext(events))["object"]["metadata"]["name"] == "b"


async def test_a_deletion_cut_off_between_its_two_steps_is_finished(tmp_path: Path) -> None:
    pods = "/api/v1/namespaces/default/pods"
    with life(tmp_path) as client:
        await client.create(pods, "p", spec={"containers": [{"name": "c", "image": "i"}]})
        storage = client.server.state.storage
        entry = storage.collection(("", "pods")).get("default", "p")
        assert entry is not None
        marked = entry.object()
        marked["metadata"] |= {"deletionTimestamp": "2026-01-01T12:00:00Z", "deletionGracePeriodSeconds": 0}
        storage.put(("", "pods"), marked)
    with life(tmp_path) as client:
        assert await client.names(pods) == []


async def test_background_work_goes_on_after_a_restart(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.create("/api/v1/namespaces", "going")
        await client.create("/api/v1/namespaces/going/configmaps", "a")
        await client.call("DELETE", "/api/v1/namespaces/going")
    with life(tmp_path) as client:
        _, version = await everything(client)
        async with client.server.running(), client.watch("/api/v1/namespaces", resourceVersion=version) as events:
            async for event in events:
                if event["type"] == "DELETED":
                    assert event["object"]["metadata"]["name"] == "going"
                    break


OPERATIONS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["create", "patch", "replace", "delete", "restart"])), max_size=25
)


@settings(max_examples=tries(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
async def test_restarts_change_nothing(operations: list[tuple[str, str]], tmp_path_factory: Any) -> None:
    folder: Path = tmp_path_factory.mktemp("state")
    forgetful = Client(ApiServer(BUILTIN, crd_types, now=lambda: NOON, rng=Random(1)))
    rng, done = Random(1), 0
    while done < len(operations):
        with life(folder, rng) as client:
            while done < len(operations):
                (name, verb), done = operations[done], done + 1
                if verb == "restart":
                    break
                assert await _do(client, name, verb, done) == await _do(forgetful, name, verb, done)
    with life(folder, rng) as client:
        assert await everything(client) == await everything(forgetful)


async def _do(client: Client, name: str, verb: str, number: int) -> tuple[int, Any]:
    path, body = f"{CONFIG_MAPS}/{name}", {"metadata": {"name": name}, "data": {"number": str(number)}}
    if verb == "create":
        return await client.call("POST", CONFIG_MAPS, body)
    if verb == "patch":
        return await client.call("PATCH", path, body, "application/merge-patch+json")
    return await client.call("PUT", path, body) if verb == "replace" else await client.call("DELETE", path)


def test_files_are_private(tmp_path: Path) -> None:
    with life(tmp_path / "new" / "folder"):
        folder = tmp_path / "new" / "folder"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes.pop("folder") == 0o700
    assert set(modes) >= {"state.sqlite", "state.sqlite-wal", "lock"}
    assert set(modes.values()) == {0o600}


def rejection(folder: Path) -> str:
    with pytest.raises(JournalError) as rejected:
        Journal.open(folder)
    return str(rejected.value)


def test_one_cluster_per_folder(tmp_path: Path) -> None:
    with Journal.open(tmp_path):
        assert rejection(tmp_path) == f"{tmp_path}: another running cluster uses it"
    Journal.open(tmp_path).close()


def test_a_folder_of_a_killed_cluster_is_free(tmp_path: Path) -> None:
    code = "from pathlib import Path; from training_local.apiserver.journal import Journal; import os, signal\n"
    code += f"held = Journal.open(Path({str(tmp_path)!r})); os.kill(os.getpid(), signal.SIGKILL)"
    search = [path for path in sys.path if path.endswith(("api", "controllers", "operator", "local"))]
    ended = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {search!r}\n{code}"], check=False)
    assert ended.returncode == -9
    Journal.open(tmp_path).close()


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert rejection(file) == f"{file}: not a folder"
    assert rejection(file / "below").endswith("cannot be used for the state: Not a directory")
    assert rejection(Path("/proc/nowhere")).startswith("/proc/nowhere: cannot be used for the state: ")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert "others can write to it" in rejection(shared)


def test_files_that_are_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"something else, long enough to be read as a header of a file" * 20)
    assert rejection(tmp_path) == f"{path}: cannot be used for the state: file is not a database"
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    assert rejection(tmp_path) == f"{path}: a database of another program; use another folder"


def test_files_of_a_newer_release(tmp_path: Path) -> None:
    Journal.open(tmp_path).close()
    path = tmp_path / "state.sqlite"
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {FORMAT + 1}")
    newer.close()
    assert rejection(tmp_path).startswith(f"{path}: written by a newer release")


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """The journal in `folder` cannot grow: no file may be larger than it is, a limit of the kernel like a full disk."""
    before, size = resource.getrlimit(resource.RLIMIT_FSIZE), (folder / "state.sqlite-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_rejects_writes_as_a_whole(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.create(CONFIG_MAPS, "before")
        before = await everything(client)
        with full_disk(tmp_path):
            for method, path, body in (
                ("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v" * 10_000}}),
                ("PUT", f"{CONFIG_MAPS}/before", {"metadata": {"name": "before"}, "data": {"k": "v"}}),
                ("DELETE", f"{CONFIG_MAPS}/before", None),
            ):
                status, rejected = await client.call(method, path, body)
                assert (status, rejected["kind"], rejected["reason"]) == (507, "Status", "InsufficientStorage")
            assert await everything(client) == before
        created = await client.create(CONFIG_MAPS, "after")
        assert int(created["metadata"]["resourceVersion"]) == int(before[1]) + 1
        now = await everything(client)
    with life(tmp_path) as client:
        assert await everything(client) == now


async def test_background_work_waits_for_room_on_the_disk(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.create("/api/v1/namespaces", "n")
        async with client.server.running():
            with full_disk(tmp_path):
                await asyncio.sleep(0)
                assert await client.names("/api/v1/namespaces/n/configmaps") == []
            async with asyncio.timeout(10), client.watch("/api/v1/namespaces/n/configmaps") as events:
                assert (await anext(events))["object"]["metadata"]["name"] == "kube-root-ca.crt"
