"""`training-operator` as a process that begins as a copy of this one, which has loaded its modules already.

Arguments, environment, folder, streams, signals and exit status are those of a process that was started from the
program's file; its start, which takes longer than what most tests do with it, is not. Some tests of every command
still start the file.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from training_operator.cli import main

PROGRAM = (sys.executable, "-c", "from training_operator.cli import main; main()")
"""How a process starts that loads everything itself."""


class Warm(subprocess.Popen[str]):
    """A running command; streams are text."""

    def __init__(self, arguments: Sequence[str], **how: Any) -> None:
        super().__init__([*PROGRAM, *arguments], text=True, **how)

    def until(self, text: str) -> None:
        """Read lines of its output up to the one with `text`."""
        assert self.stdout is not None
        while text not in self.stdout.readline():
            assert self.poll() is None

    def _execute_child(self, args: Sequence[str], *how: Any) -> None:
        """Take the place of `fork` and `exec`: this is where `Popen` has made the pipes, and given them to `how`."""
        cwd, env, new_session = how[4], how[5], how[-2]
        ends = dict(enumerate((how[9], how[12], how[14])))
        with warnings.catch_warnings():  # other threads of this process hold nothing that the command needs
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            _become(args[len(PROGRAM) :], ends, cwd, env, new_session)
        popen: Any = self
        popen._child_created = True
        popen._close_pipe_fds(*how[9:15])


def _become(
    arguments: Sequence[str], ends: Mapping[int, int], cwd: str | None, env: Mapping[str, str] | None, session: bool
) -> NoReturn:
    status: object = 1
    try:
        for number, given in ends.items():
            if given != -1:
                os.dup2(given, number)
        gc.freeze()  # garbage of that process must not close files that get its numbers
        os.closerange(3, 4096)
        logging.getLogger().handlers.clear()  # pytest's, whose files are closed now
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(open(number, mode, closefd=False), line_buffering=os.isatty(number) or number == 2)  # noqa: SIM115 - they end with the process
            for number, mode in enumerate(("rb", "wb", "wb"))
        )
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if session:
            os.setsid()
        if cwd is not None:
            os.chdir(cwd)
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        sys.argv = ["training-operator", *arguments]
        main()
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:  # as an interpreter that ends
        traceback.print_exc()
    finally:
        if isinstance(status, str):
            print(status, file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))
