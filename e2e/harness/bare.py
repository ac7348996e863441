"""A control plane of bare processes on loopback: etcd, API server, controller manager; no root, no node."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.harness.binaries import programs
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import answers, private_file, service_account_keys, wait_until


@contextmanager
def bare(*manager_flags: str, server_flags: Sequence[str] = ()) -> Iterator[Cluster]:
    """Run a control plane until the context is left, with further flags for its controller manager and API server."""
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
        tokens = private_file(
            folder / "tokens.csv",
            f'{admin},admin,admin,"system:masters"\n'
            f"{manager},system:kube-controller-manager,system:kube-controller-manager\n",
        )
        private_key, public_key = service_account_keys(folder)
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
            *server_flags,
        )
        wait_until(lambda: answers(f"{server}/readyz", admin, ca_file), "the API server", children)
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
            *manager_flags,
        )
        account = f"{server}/api/v1/namespaces/default/serviceaccounts/default"
        wait_until(lambda: answers(account, admin, ca_file), "the controller manager", children)
        yield cluster
