"""`make e2e-upstream`: the suite on a real node of this machine, kind by kind; as root."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.deployment.installation import LEASE
from e2e.harness.binaries import COSCHEDULER
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import PLURALS
from e2e.node.box import Size
from e2e.node.cluster import node
from e2e.node.control_plane import GANGS
from e2e.node.installed import IN_NAMESPACE, wait_until_leading, write_overlay
from e2e.node.operator_image import operator_image
from e2e.node.registry import publish
from e2e.node.worker import load
from e2e.training.recording import keep
from e2e.upstream.images import BUILDS
from e2e.upstream.suite import VERSION, suite
from rich.console import Console
from rich.table import Table

CPUS = 4
"""Their JAXJob asks for 2.4; what runs is slower on fewer."""

LEADS = 40.0
"""Seconds after which a leader is killed: a lease takes some of them to change hands."""


def main() -> int:
    """Run the tests of some kinds or of all; the exit status is 1 if one failed, 2 if they cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m e2e.upstream", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(BUILDS)}; without, all")
    parser.add_argument("--environments", type=Path, required=True, help="the frameworks' environments of `make train`")
    parser.add_argument("--kill-leaders", action="store_true", help=f"kill the leader every {LEADS:.0f} s")
    parser.add_argument("--gangs", action="store_true", help="the tests of gangs, with scheduler-plugins")
    parser.add_argument("--record", action="store_true", help="keep what has passed for docs/what-runs.md")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(BUILDS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; kinds are {', '.join(BUILDS)}")
    table = Table("KIND", "TEST", "RESULT", "SECONDS OF THE KIND")
    try:
        fetched = suite()
        failed = False
        with node(Size(cpus=CPUS, images_on_disk=True, gangs=options.gangs)) as cluster, ExitStack() as stack:
            install(cluster, gangs=options.gangs)
            killed = stack.enter_context(killing_leaders(cluster)) if options.kill_leaders else []
            for kind in options.kinds or BUILDS:
                for image in BUILDS[kind](options.environments):
                    publish(image, cluster.kubeconfig.parent)
                begun = time.monotonic()
                results = fetched.run(kind, cluster.kubeconfig, gangs=options.gangs)
                took = f"{time.monotonic() - begun:.0f}"
                for test, result in results.items():
                    table.add_row(kind, test, result, took)
                passed = [test for test, result in results.items() if result == "passed"]
                failed |= "failed" in results.values() or not passed
                if options.record and "failed" not in results.values():
                    record(kind, passed, gangs=options.gangs)
    except HarnessError as error:
        print(f"e2e: {error}", file=sys.stderr)
        return 2
    Console().print(table)
    if killed:
        print(f"{len(killed)} leaders were killed: {', '.join(killed)}")
    return int(failed)


def install(cluster: Cluster, *, gangs: bool) -> None:
    """Install the operator as administrators do."""
    load(operator_image(), cluster.kubeconfig.parent)
    flags = (f"--gang-scheduler-name={GANGS}",) if gangs else ()
    components = ("scheduler-plugins",) if gangs else ()
    with tempfile.TemporaryDirectory() as folder:
        cluster.run_kubectl("apply", "-k", str(write_overlay(Path(folder), *flags, components=components)))
    wait_until_leading(cluster)


@contextmanager
def killing_leaders(cluster: Cluster) -> Iterator[list[str]]:
    """Kill again and again the pod that has the lease, until the context is left; the pods that were killed."""
    killed: list[str] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(LEADS):
            holder = cluster.run_kubectl(
                "get", "lease", LEASE, IN_NAMESPACE, "--output=jsonpath={.spec.holderIdentity}"
            )
            pod = holder.partition("_")[0]
            if pod and pod not in killed:
                cluster.run_kubectl("delete", "pod", pod, IN_NAMESPACE, "--grace-period=0", "--force")
                killed.append(pod)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def record(kind: str, passed: list[str], *, gangs: bool) -> None:
    """Keep that these tests of a kind have passed today."""
    name = next(name for name in PLURALS if name.lower() == kind)
    shown = ", ".join(f"`{test}`" for test in passed)
    scheduler = f", scheduler-plugins {COSCHEDULER.version.removeprefix('v')}" if gangs else ""
    keep(
        f"test/e2e/test_e2e_{kind}.py of kubeflow-training{', gangs' if gangs else ''}",
        library=f"upstream's suite: {name}", versions=f"kubeflow-training {VERSION}{scheduler}", kind=name,
        shown=shown, where="real node",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
