"""Child processes that never outlive this one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.harness.errors import HarnessError

TAIL = 4000
"""Characters of a log that an error message repeats."""


class Child:
    """A program with its output in a file; the kernel kills it when this process dies."""

    def __init__(self, command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = Path(command[0]).name
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                # Ctrl-C must reach us alone: we stop our children in order.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id; setpriv replaces itself by the program, so it is the program's own."""
        return self.process.pid

    def output(self) -> str:
        """Everything that the program has printed so far."""
        return self.log.read_text(errors="replace")

    def check_alive(self) -> None:
        """Raise with the end of the log if the program has ended."""
        if (status := self.process.poll()) is not None:
            raise HarnessError(f"{self.name} ended with status {status}:\n{self.output()[-TAIL:]}")

    def stop(self, grace: float = 10.0) -> int:
        """End the program with SIGTERM, after `grace` seconds with SIGKILL; return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.wait()

    def kill(self) -> None:
        """End the program at once, as a crash would."""
        self.process.kill()
        self.process.wait()
