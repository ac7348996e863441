"""`fail_once.py STATUS COMMAND...`: exit with STATUS the first time that a pod of this name does so, then run COMMAND.

What happened before is remembered in the folder `/shared`, which outlives the pod.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

if __name__ == "__main__":
    try:
        Path("/shared", socket.gethostname()).touch(exist_ok=False)
    except FileExistsError:
        os.execvp(sys.argv[2], sys.argv[2:])
    sys.exit(int(sys.argv[1]))
