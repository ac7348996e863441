"""How log lines of several replicas are printed: each behind the name of its replica, in the replica's colour."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.text import Text

from training_api.printable import printable
from training_local.run.pod_logs import LogLine
from training_local.run.progress import Replica
from training_local.show.colours import colour_of
from training_local.show.json_lines import log_json, print_json


class LinePrinter:
    """Prints log lines: made harmless on a terminal, as they are through a pipe, or as JSON."""

    def __init__(self, console: Console, *, timestamps: bool, as_json: bool, out: TextIO | None = None) -> None:
        self._console, self._timestamps, self._as_json = console, timestamps, as_json
        self._out = out or sys.stdout
        self._prefixes: dict[str, str] = {}

    def print(self, line: LogLine) -> None:
        """Print one line."""
        if self._as_json:
            print_json({"log": log_json(line)}, self._out)
            return
        text = printable(line.text) if self._console.is_terminal else line.text
        stamp = f"{line.stamp} " if self._timestamps else ""
        self._out.write(f"{self._prefix(line.replica)}{stamp}{text}\n")
        self._out.flush()

    def _prefix(self, replica: Replica) -> str:
        """The name with its colour, made once: rich takes longer for a line than all the rest."""
        if replica.pod not in self._prefixes:
            with self._console.capture() as captured:
                self._console.print(Text(f"{replica.short_name} | ", colour_of(replica)), end="", soft_wrap=True)
            self._prefixes[replica.pod] = captured.get()
        return self._prefixes[replica.pod]
