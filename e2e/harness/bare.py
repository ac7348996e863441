"""A control plane of bare processes on loopback: etcd, API server, controller manager; no root, no node."""

from __future__ import annotations

import secrets
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from e2e.harness.binaries import programs
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.harness.errors import HarnessError
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child

START_LIMIT = 60.0
"""Seconds until a component must answer; usually all are up within four."""


@contextmanager
def bare() -> Iterator[Cluster]:
    """Run a control plane until the context is left."""
    binaries = programs()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="training-e2e-")))
        children: list[Child] = []

        def start(name: str, *flags: str) -> None:
            child = Child([binaries[name], *flags], folder / f"{name}.log")
            stack.callback(child.kill)  # nothing of it is kept, so nothing needs a tidy end
            children.append(child)

        etcd_port, peer_port, api_port = free_ports(3)
        admin, manager = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        tokens = _private_file(
            folder / "tokens.csv",
            f'{admin},admin,admin,"system:masters"\n'
            f"{manager},system:kube-controller-manager,system:kube-controller-manager\n",
        )
        private_key, public_key = _service_account_keys(folder)
        server, ca_file = f"https://127.0.0.1:{api_port}", folder / "pki" / "apiserver.crt"

        start(
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls=http://127.0.0.1:{etcd_port}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd_port}",
            f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}",
            f"--initial-cluster=default=http://127.0.0.1:{peer_port}",
        )
        start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            # The address of the default route would be published otherwise, and need not exist.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={api_port}",
            f"--cert-dir={ca_file.parent}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            # As in the recordings: pods stay without a token volume.
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public_key}",
            f"--service-account-signing-key-file={private_key}",
        )
        _wait("the API server", children, lambda: _get(f"{server}/readyz", admin, ca_file))
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server, ca_file, {"token": admin})
        cluster = Cluster("bare", kubeconfig, str(binaries["kubectl"]))
        # Before the controller manager: its garbage collector looks for new kinds only every 30 s.
        cluster.apply_crds()
        start(
            "kube-controller-manager",
            f"--kubeconfig={write_kubeconfig(folder / 'manager.kubeconfig', server, ca_file, {'token': manager})}",
            "--leader-elect=false",
            "--use-service-account-credentials",
            "--secure-port=0",  # another cluster may have the usual port
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            f"--service-account-private-key-file={private_key}",
            f"--root-ca-file={ca_file}",
        )
        account = f"{server}/api/v1/namespaces/default/serviceaccounts/default"
        _wait("the controller manager", children, lambda: _get(account, admin, ca_file))
        yield cluster


def _wait(what: str, children: list[Child], ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_LIMIT
    while not ready():
        for child in children:
            child.check_alive()
        if time.monotonic() > deadline:
            raise HarnessError(f"{what} did not answer within {START_LIMIT:.0f} s:\n{children[-1].output()[-2000:]}")
        time.sleep(0.05)


def _get(url: str, token: str, ca_file: Path) -> bool:
    """Whether a GET succeeds; everything that goes wrong during the start means no."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        context = ssl.create_default_context(cafile=str(ca_file))
        with urllib.request.urlopen(request, timeout=5, context=context):
            return True
    except OSError:
        return False


def _service_account_keys(folder: Path) -> tuple[Path, Path]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _private_file(folder / "sa.key", private.decode()), _private_file(folder / "sa.pub", public.decode())


def _private_file(path: Path, content: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(content)
    return path
