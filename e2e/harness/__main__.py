"""`python -m e2e.harness`: a control plane for developers."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from e2e.harness.binaries import programs
from e2e.harness.errors import HarnessError
from e2e.harness.providers import PROVIDERS, provide


def main() -> int:
    """Run one command; the exit status is 2 if no control plane can be had."""
    parser = argparse.ArgumentParser(prog="python -m e2e.harness", description="A Kubernetes control plane for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the control plane's programs and print where they are")
    up = commands.add_parser("up", help="start a control plane, print its kubeconfig, stay until Ctrl-C")
    up.add_argument("--provider", choices=PROVIDERS, default="bare")
    up.add_argument("--kubeconfig", type=Path, help="for the provider `existing`")
    arguments = parser.parse_args()
    try:
        if arguments.command == "build":
            for name, path in programs().items():
                print(f"{name}: {path}")
        else:
            _up(arguments.provider, arguments.kubeconfig)
    except HarnessError as error:
        print(f"e2e: {error}", file=sys.stderr)
        return 2
    return 0


def _up(provider: str, kubeconfig: Path | None) -> None:
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()
        if not up:
            raise KeyboardInterrupt  # still starting: leave through the context managers

    up = False
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


if __name__ == "__main__":
    sys.exit(main())
