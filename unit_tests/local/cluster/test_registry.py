"""Clusters are found by others while they live, whatever has become of the process; no other user can look at them."""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from training_local.cluster import registry
from training_local.cluster.cleanup import GROUPS
from training_local.cluster.registry import Claim, ClusterRecord, claimed, end, find, running
from training_local.errors import BadInput
from training_local.node.cgroups import PREFIX
from training_local.node.sandbox.orphans import CLUSTER

# Claims the name given, announces it and waits; a container that has left its session is played by the sleep.
HOLDER = """
import os, signal, subprocess, sys
from datetime import UTC, datetime
from training_local.cluster.registry import ClusterRecord, claimed
with claimed(sys.argv[1]) as claim:
    (claim.folder / "volume").mkdir()
    (claim.folder / "volume" / "file").touch()
    (claim.folder / "volume").chmod(0)
    marked = dict(os.environ, TRAINING_LOCAL_CLUSTER=claim.id)
    stray = subprocess.Popen(["sleep", "600"], env=marked, start_new_session=True, stdout=subprocess.DEVNULL)
    kubeconfig, now = claim.folder / "kubeconfig", datetime.now(UTC)
    claim.announce(ClusterRecord(claim.name, os.getpid(), "https://127.0.0.1:1", kubeconfig, now, "host"))
    print(stray.pid, flush=True)
    signal.pause()
"""


pytestmark = pytest.mark.usefixtures("state")


def record(claim: Claim) -> ClusterRecord:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return ClusterRecord(claim.name, os.getpid(), "https://127.0.0.1:1", claim.folder / "kubeconfig", moment, "netns")


def start(stack: ExitStack, *names: str) -> list[ClusterRecord]:
    claims = [stack.enter_context(claimed(name)) for name in names]
    for claim in claims:
        claim.announce(record(claim))
    return [record(claim) for claim in claims]


def holder(name: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, name], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def marked_in(pid: int) -> bool:
    """Whether the process has not ended yet and carries a mark."""
    try:
        return CLUSTER.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_cluster_is_found_by_name_or_as_the_only_one(state: Path) -> None:
    with ExitStack() as stack:
        (only,) = start(stack, "exp-1")
        assert find("exp-1") == find(None) == only
        assert running() == [only]
    assert running() == []
    assert list((state / "clusters").glob("[!.]*")) == []


def test_of_several_the_default_one_is_meant(state: Path) -> None:
    with ExitStack() as stack:
        zeta, default = start(stack, "zeta", "default")
        assert running() == [default, zeta]
        assert find(None).name == "default"


@pytest.mark.parametrize(
    ("names", "wanted", "sentence"),
    [
        ((), None, "no cluster is running; `training-operator local up --detach` starts one"),
        ((), "b", "no cluster b is running; `training-operator local up --detach` starts one"),
        (("a",), "b", "no cluster b is running; running: a"),
        (("a", "c"), None, "several clusters are running (a, c), none is called default: specify one"),
    ],
)
def test_what_is_not_running_is_said(names: tuple[str, ...], wanted: str | None, sentence: str) -> None:
    with ExitStack() as stack:
        start(stack, *names)
        with pytest.raises(BadInput) as caught:
            find(wanted)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "a.b", "-a", "a-", "a\n", ".lock", "x" * 64])
def test_only_labels_are_names(name: str) -> None:
    with pytest.raises(BadInput, match="must be at most 63 lower case"), claimed(name):
        pass
    with pytest.raises(BadInput, match="must be at most 63 lower case"):
        find(name)


def test_a_name_is_taken_while_its_cluster_lives_also_before_it_is_up() -> None:
    with claimed("a"), pytest.raises(BadInput, match="a cluster a is already running"), claimed("a"):
        pass
    with claimed("a"):
        assert running() == []


def test_nothing_is_left_of_a_killed_cluster_after_the_next_start(state: Path) -> None:
    victim, stray = holder("victim")
    living, survivor = holder("living")
    try:
        victim.kill()
        victim.wait()
        assert [each.name for each in running()] == ["living"]
        gone = os.pidfd_open(stray)
        with claimed("next"):
            assert {each.name for each in (state / "clusters").glob("[!.]*")} == {"living", "next"}
            assert select.select([gone], [], [], 0)[0] == [gone]
            assert marked_in(survivor)
            assert find("living").pid == living.pid
        os.close(gone)
    finally:
        for each in (victim, living):
            each.kill()
            each.communicate()
    with claimed("last"):
        assert not marked_in(survivor)


def test_a_child_that_a_killed_cluster_had_just_forked_is_waited_for(state: Path) -> None:
    process, stray = holder("victim")
    lock = os.open(state / "clusters/victim/lock", os.O_RDONLY)
    process.kill()
    process.communicate()
    fcntl.flock(lock, fcntl.LOCK_EX)  # as a child has it that is not the cluster
    release = threading.Timer(0.1, os.close, [lock])
    release.start()
    with claimed("victim"):
        assert not marked_in(stray)
    release.join()


def test_only_the_process_that_holds_the_lock_is_asked_to_end() -> None:
    process, stray = holder("here")
    with subprocess.Popen(["sleep", "600"]) as bystander:
        cluster = find("here")
        elsewhere = replace(cluster, pid=bystander.pid)
        Claim("here", "", cluster.kubeconfig.parent).announce(elsewhere)
        with pytest.raises(BadInput, match="cluster here runs in another container"):
            asyncio.run(end(find("here"), 5))
        assert bystander.poll() is None
        bystander.kill()
    Claim("here", "", cluster.kubeconfig.parent).announce(cluster)
    assert asyncio.run(end(cluster, 30))
    process.communicate()
    os.kill(stray, signal.SIGKILL)


def test_control_groups_go_with_what_is_in_them(state: Path) -> None:
    parent = next((path for path in (GROUPS, GROUPS / "unified") if os.access(path / "cgroup.procs", os.W_OK)), None)
    if parent is None:
        pytest.skip("this machine permits no cgroups")
    group = parent / f"{PREFIX}0123456789abcdef"
    (group / "pod").mkdir(parents=True)
    with subprocess.Popen(["setsid", "sleep", "600"]) as process:
        (group / "pod/cgroup.procs").write_text(str(process.pid))
        dead = state / "clusters/dead"
        dead.mkdir(parents=True)
        state.chmod(0o700)
        dead.parent.chmod(0o700)
        (dead / "lock").write_text("0123456789abcdef 1")
        with claimed("next"):
            assert not group.exists()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o770, 0o701])
def test_a_folder_open_to_others_is_rejected(state: Path, mode: int) -> None:
    state.mkdir()
    state.chmod(mode)
    with pytest.raises(BadInput, match=f"{state} is open to other users; `chmod 700 {state}` closes it"), claimed("a"):
        pass


def test_folders_and_files_are_for_their_owner_only(state: Path) -> None:
    with ExitStack() as stack:
        stack.callback(os.umask, os.umask(0))
        start(stack, "a")
        for directory, _, files in os.walk(state):
            assert Path(directory).stat().st_mode & 0o077 == 0
            assert all(Path(directory, file).stat().st_mode & 0o022 == 0 for file in files)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act for another user")
def test_a_folder_of_another_user_is_rejected(state: Path) -> None:
    state.mkdir(mode=0o700)
    os.chown(state, 65534, 65534)
    with pytest.raises(BadInput, match=f"{state} belongs to another user; set TRAINING_OPERATOR_STATE"), claimed("a"):
        pass


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"TRAINING_OPERATOR_STATE": "/x/y", "XDG_STATE_HOME": "/z"}, "/x/y"),
        ({"XDG_STATE_HOME": "/z", "HOME": "/h"}, "/z/training-operator"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/training-operator"),
        ({"HOME": "/h"}, "/h/.local/state/training-operator"),
    ],
)
def test_where_state_is_kept(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str) -> None:
    for name in ("TRAINING_OPERATOR_STATE", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert registry.state_folder() == Path(folder)
