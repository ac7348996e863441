"""`python -m e2e.harness`: a control plane for developers."""

from __future__ import annotations

import argparse
from pathlib import Path

from e2e.harness.binaries import CONTROL_PLANE, JOBSET, KUEUE, PROMETHEUS, TRAINER, programs
from e2e.harness.errors import told
from e2e.harness.foreground import stay_up
from e2e.harness.providers import PROVIDERS


def main() -> None:
    """Run one command; the exit status is 2 if no control plane can be had."""
    parser = argparse.ArgumentParser(prog="python -m e2e.harness", description="A Kubernetes control plane for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the programs of all tests without a node and print where they are")
    up = commands.add_parser("up", help="start a control plane, print its kubeconfig, stay until Ctrl-C")
    up.add_argument("--provider", choices=PROVIDERS, default="bare")
    up.add_argument("--kubeconfig", type=Path, help="for the provider `existing`")
    arguments = parser.parse_args()
    with told("e2e"):
        if arguments.command == "build":
            for name, path in programs((*CONTROL_PLANE, KUEUE, PROMETHEUS, JOBSET, TRAINER)).items():
                print(f"{name}: {path}")
        else:
            stay_up(arguments.provider, arguments.kubeconfig)


if __name__ == "__main__":
    main()
