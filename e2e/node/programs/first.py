"""`first.py COMMAND -- COMMAND`: what replicas run whose first attempt goes another way than the later ones.

The first attempt of a pod of this name runs the first command, every later one the second, whether the container was
restarted or the pod replaced: that is remembered in the folder `/shared`, which outlives the pod.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

if __name__ == "__main__":
    between = sys.argv.index("--")
    first, later = sys.argv[1:between], sys.argv[between + 1 :]
    try:
        Path("/shared", socket.gethostname()).touch(exist_ok=False)
        command = first
    except FileExistsError:
        command = later
    os.execvp(command[0], command)
