"""A command in the detached: what the terminal sees of it, and what goes into the log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
from pathlib import Path
from training_local.cluster.detached import Detached

detached, logger = Detached.enter(), sys.stderr
print("before")
if sys.argv[1] == "fail":
    sys.exit(3)
if sys.argv[1] == "die":
    os.kill(os.getpid(), 9)
detached.let_go(Path(sys.argv[2]))
print("after")
print("by a logger that was made before", file=logger)
os.system("echo by a child")
Path(sys.argv[2]).with_name("done").write_text("")
"""


def run(how: str, log: Path) -> tuple[int, str]:
    program = [sys.executable, "-u", "-c", PROGRAM, how, str(log)]
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_the_terminal_is_let_go(tmp_path: Path) -> None:
    log = tmp_path / "log"
    os.mkfifo(done := log.with_name("done"))
    assert run("stay", log) == (0, "before\n")
    done.read_text()  # ends when the other side has opened and closed it
    assert log.read_text() == "after\nby a logger that was made before\nby a child\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_an_early_end_is_that_of_the_command(tmp_path: Path) -> None:
    assert run("fail", tmp_path / "log") == (3, "before\n")
    assert run("die", tmp_path / "log") == (128 + 9, "before\n")
    assert list(tmp_path.iterdir()) == []
