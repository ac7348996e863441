"""A control plane in the foreground, for work by hand."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from e2e.harness.providers import provide


def stay_up(provider: str, kubeconfig: Path | None = None) -> None:
    """Start a control plane, print how to reach it, and stay until Ctrl-C or SIGTERM."""
    stop = threading.Event()
    up = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()
        if not up:
            raise KeyboardInterrupt  # still starting: leave through the context managers

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    try:
        with provide(provider, kubeconfig) as cluster:
            up = True
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            print(f"The control plane runs until Ctrl-C; kubectl is {cluster.kubectl}", file=sys.stderr, flush=True)
            stop.wait()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
