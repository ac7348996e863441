"""What an MPIJob's init container `kubectl-delivery` does here: bring the stand-in for `kubectl` to the launcher.

Runs as a program of its own with the standard library only.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-I", "-S", __file__)
"""What the container of the delivery image executes."""


def main() -> int:
    """Put a program `kubectl` into the folder `$TARGET_DIR`."""
    folder = os.environ.get("TARGET_DIR")
    if not folder:
        print("the variable TARGET_DIR must name the folder to install kubectl into", file=sys.stderr)
        return 1
    program = (sys.executable, "-I", "-m", "training_local.node.kubectl")
    target = Path(folder, "kubectl")
    target.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
    target.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())
