"""Nothing of a node outlives it: no process, namespace, mount, control group, interface or file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from e2e.harness.binaries import NODE, programs
from e2e.node.box import box
from e2e.node.leftovers import cgroup_hierarchies
from e2e.node.place import Place, clear_abandoned, reserved
from e2e.support.paths import ROOT

HOLDER = """
import json, signal, sys
from pathlib import Path
from e2e.node.box import box
from e2e.node.place import reserved
with reserved() as place:
    place.folder.mkdir(parents=True)
    with box(place, Path(sys.argv[1])) as inside:
        inside.start("sleep", "1000")
        print(json.dumps([place.number, inside.pid]), flush=True)
        signal.pause()
"""


@pytest.fixture(scope="module")
def pause() -> Path:
    return programs(NODE)["pause"]


def test_a_normal_end_leaves_nothing(pause: Path) -> None:
    with reserved() as place:
        place.folder.mkdir(parents=True)
        with box(place, pause) as inside:
            inside.start("sleep", "1000")
            network = Path(f"/proc/{inside.pid}/ns/net").readlink()
            assert len(list(_in_network(network))) >= 1
            assert len(list(_traces(place))) == 2 + len(cgroup_hierarchies())
        assert not list(_in_network(network))
    assert not list(_traces(place))


def test_what_a_killed_owner_leaves_goes_with_the_next_start(pause: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(pause)]
    owner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        number, pid = json.loads(owner.stdout.readline())
        network = Path(f"/proc/{pid}/ns/net").readlink()
        place = Place(number)
        clear_abandoned()
        assert list(_traces(place)), "it lives, and is not abandoned"
    finally:
        owner.kill()
        owner.communicate()
    _until(lambda: not list(_in_network(network)), "all processes end")
    assert list(_traces(place))
    clear_abandoned()
    assert not list(_traces(place))


def _in_network(network: Path) -> Iterator[Path]:
    """Processes in a network namespace."""
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):  # it has just ended
            if link.readlink() == network:
                yield link


def _traces(place: Place) -> Iterator[Path]:
    """What exists on the host because of a node."""
    interface = Path("/sys/class/net", place.name)
    groups = [hierarchy / place.name for hierarchy in cgroup_hierarchies()]
    return (path for path in (interface, place.folder, *groups) if path.exists())


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, f"not within 10 s: {what}"
        time.sleep(0.02)
