"""`torchrun` for pods: the one of their Python, and with torch 1.x on Python 3.11 with the options that it needs there.

Runs as a program of its own, in whatever Python the pods have.
"""

import runpy
import sys

import torch  # type: ignore[import-not-found, unused-ignore] # of the pods' Python

if __name__ == "__main__":
    if torch.__version__.startswith("1.") and sys.version_info >= (3, 11):
        # Without them it ends with "'NoneType' object has no attribute 'get'".
        sys.argv[1:1] = ["-r", "1", "-t", "1"]
    runpy.run_module("torch.distributed.run", run_name="__main__", alter_sys=True)
