"""The image at work: with the arguments, variables and account of an installation, on a real control plane."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml
from e2e.deployment.installation import ACCOUNT, DEPLOY, namespace_of, of_kind, render
from e2e.harness.bare import bare
from e2e.harness.client import connect
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import PLURALS, Namespace, typical
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.tools.image.container import ACCOUNT as ACCOUNT_FOLDER
from e2e.tools.image.container import Bundle
from e2e.tools.image.content import expect

OVERLAY: Final = DEPLOY / "overlays" / "standalone"
CONTAINER: Final = "operator"
PROBES: Final = "8081"
"""The port that the image's health check asks."""
START_LIMIT: Final = 60.0
LOOK: Final = """
import os, pathlib
status = dict(line.split(':', 1) for line in pathlib.Path('/proc/1/status').read_text().splitlines())
print(status['Uid'], status['CapEff'], status['CapBnd'], status['NoNewPrivs'])
for folder, folders, _ in os.walk('/'):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in ('/proc', '/dev')]
    if os.access(folder, os.W_OK):
        print(folder)
"""
"""What a process beside the operator sees of it, and where it can write."""


def answers(bundle: Bundle) -> str:
    """The entry point knows its version and v1's flags, and rejects others in one sentence."""
    version = bundle.run("--version").strip()
    expect("--gang-scheduler-name" in bundle.run("run", "--help"), "v1's flags are missing in the help")
    try:
        bundle.run("--no-such-flag")
    except HarnessError as error:
        expect("No such option" in str(error) and "Traceback" not in str(error), str(error))
    else:
        raise HarnessError("a flag that does not exist was accepted")
    return version


def works(bundle: Bundle, health: Sequence[str]) -> str:
    """As the installation starts it, it is healthy, runs jobs of all kinds, and leaves on SIGTERM."""
    with bare() as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.run_kubectl("apply", "-k", str(OVERLAY))
        probes, metrics = free_ports(2)
        begun = time.monotonic()
        with _installed(bundle, cluster, Path(folder), probes, metrics) as operator:
            _wait_healthy(bundle, operator, [part.replace(PROBES, str(probes)) for part in health])
            healthy = time.monotonic() - begun
            _look(bundle)
            asyncio.run(_run_jobs(cluster))
            begun = time.monotonic()
        ended = time.monotonic() - begun
    return f"healthy after {healthy:.1f} s, a job of each kind succeeded, ended {ended:.1f} s after SIGTERM"


@contextmanager
def _installed(bundle: Bundle, cluster: Cluster, folder: Path, probes: int, metrics: int) -> Iterator[Child]:
    """The container of the installed Deployment, with the token of its account."""
    objects = render(cluster, OVERLAY)
    namespace = namespace_of(objects)
    (container,) = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"]
    server = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    address = urlsplit(server["server"])
    fields = {"metadata.namespace": namespace, "metadata.name": f"{ACCOUNT}-0"}
    variables = {each["name"]: fields[each["valueFrom"]["fieldRef"]["fieldPath"]] for each in container["env"]}
    variables |= {"KUBERNETES_SERVICE_HOST": str(address.hostname), "KUBERNETES_SERVICE_PORT": str(address.port)}
    folder.chmod(0o755)  # read by another user
    (folder / "token").write_text(cluster.run_kubectl("create", "token", ACCOUNT, f"--namespace={namespace}").strip())
    (folder / "ca.crt").write_bytes(Path(server["certificate-authority"]).read_bytes())
    (folder / "namespace").write_text(namespace)
    flags = [f"--health-probe-bind-address=127.0.0.1:{probes}", f"--metrics-bind-address=127.0.0.1:{metrics}"]
    with bundle.running(CONTAINER, [*container["args"], *flags], variables, {ACCOUNT_FOLDER: folder}) as operator:
        yield operator


def _wait_healthy(bundle: Bundle, operator: Child, health: Sequence[str]) -> None:
    """Ask the image's own health check, as Docker would, until it is content."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        operator.check_alive()
        try:
            bundle.enter(CONTAINER, *health)
            return
        except HarnessError as error:
            if time.monotonic() > deadline:
                raise HarnessError(f"not healthy after {START_LIMIT:.0f} s: {error}\n{operator.output()}") from None
            time.sleep(0.2)


def _look(bundle: Bundle) -> None:
    """The process is the user's, has no capability and cannot get any, and can write nowhere."""
    seen = bundle.enter(CONTAINER, "/venv/bin/python", "-c", LOOK).split()
    none = "0" * 16
    expected = [*["65532"] * 4, none, none, "1"]
    expect(seen == expected, f"user, capabilities, no new privileges and folders that can be written to: {seen}")


async def _run_jobs(cluster: Cluster) -> None:
    async with connect(cluster.kubeconfig) as api:
        jobs = Namespace(api, "default")
        for kind in PLURALS:
            await jobs.run_to_success(typical(f"image-{kind.lower()}", kind))
