"""`python -m e2e.node`: a real node for tests and developers."""

from __future__ import annotations

import argparse

from e2e.harness.binaries import CONTROL_PLANE, NODE, programs
from e2e.harness.errors import told
from e2e.harness.foreground import stay_up
from e2e.node.place import clear_abandoned
from e2e.node.requirements import install, require


def main() -> None:
    """Run one command; the exit status is 2 if a node cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m e2e.node", description="A Kubernetes of one real node, as root.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install what is missing of Debian's packages")
    commands.add_parser("check", help="say in one sentence what is missing")
    commands.add_parser("build", help="build the programs from Go modules")
    commands.add_parser("up", help="start it, print its kubeconfig, stay until Ctrl-C")
    commands.add_parser("clean", help="remove what killed ones have left; the next start does that, too")
    command = parser.parse_args().command
    with told("e2e"):
        match command:
            case "install":
                install()
            case "check":
                require()
            case "build":
                programs((*CONTROL_PLANE, *NODE))
            case "up":
                stay_up("node")
            case "clean":
                clear_abandoned()


if __name__ == "__main__":
    main()
