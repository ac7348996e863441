"""A control plane in the foreground, for work by hand."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from e2e.harness.providers import provide

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stay_up(provider: str, kubeconfig: Path | None = None) -> None:
    """Start a control plane, print how to reach it, and stay until Ctrl-C or SIGTERM."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)  # still starting: leave through the context managers
    try:
        with provide(provider, kubeconfig) as cluster:
            # No handler may set what this thread waits for: between two instructions of the wait that is a deadlock.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            print(f"The control plane runs until Ctrl-C; kubectl is {cluster.kubectl}", file=sys.stderr, flush=True)
            signal.sigwait(SIGNALS)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
