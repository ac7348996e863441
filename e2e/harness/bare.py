"""A control plane of bare processes on loopback: etcd, API server, controller manager; no root, no node."""

from __future__ import annotations

import json
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2e.harness.binaries import CONTROL_PLANE, kubernetes, programs
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.harness.json_lines import json_lines
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import answers, private_file, service_account_keys, wait_until

ETCD, API_SERVER, MANAGER = "etcd", "kube-apiserver", "kube-controller-manager"
AUDITED = "system:serviceaccount:kubeflow:training-operator"
"""The operator's account in an installation."""
CONSOLE = "system:serviceaccount:kubeflow:training-console"
"""The console's."""
AUDIT_LOG = "audit.log"
"""File beside the kubeconfig: what these accounts have asked for, and what they were answered."""
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [AUDITED, CONSOLE]}, {"level": "None"}],
}


def audited(cluster: Cluster, user: str) -> list[dict[str, Any]]:
    """What a bare cluster's API server was asked for by one of these accounts, and has answered."""
    entries = json_lines(cluster.kubeconfig.with_name(AUDIT_LOG))
    return [entry for entry in entries if entry["user"]["username"] == user]


class ControlPlane:
    """A control plane whose programs can be killed, paused, and started again with what they have stored."""

    def __init__(
        self,
        folder: Path,
        binaries: Mapping[str, Path],
        manager_flags: Sequence[str] = (),
        server_flags: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._children: dict[str, Child] = {}
        etcd_port, peer_port, self.port = free_ports(3)
        self.etcd = f"http://127.0.0.1:{etcd_port}"
        self.certificates = folder / "pki"
        self._server, self._ca_file = f"https://127.0.0.1:{self.port}", self.certificates / "apiserver.crt"
        self._admin, manager = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        tokens = private_file(
            folder / "tokens.csv",
            f'{self._admin},admin,admin,"system:masters"\n'
            f"{manager},system:kube-controller-manager,system:kube-controller-manager\n",
        )
        private_key, public_key = service_account_keys(folder)
        audit_policy = private_file(folder / "audit-policy.json", json.dumps(AUDIT_POLICY))
        self.cluster = Cluster("bare", self._kubeconfig("kubeconfig", self._admin), str(binaries["kubectl"]))
        peers = f"http://127.0.0.1:{peer_port}"
        self._commands: dict[str, list[str | Path]] = {
            ETCD: [
                binaries[ETCD],
                f"--data-dir={folder / 'etcd'}",
                "--unsafe-no-fsync",
                "--log-level=warn",
                f"--listen-client-urls={self.etcd}",
                f"--advertise-client-urls={self.etcd}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
            ],
            API_SERVER: [
                binaries[API_SERVER],
                f"--etcd-servers={self.etcd}",
                "--bind-address=127.0.0.1",
                # The address of the default route would be published otherwise, and need not exist.
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
                f"--secure-port={self.port}",
                f"--cert-dir={self.certificates}",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
                # As in the recordings: pods stay without a token volume.
                "--disable-admission-plugins=ServiceAccount",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={public_key}",
                f"--service-account-signing-key-file={private_key}",
                f"--audit-policy-file={audit_policy}",
                f"--audit-log-path={folder / AUDIT_LOG}",
                "--audit-log-mode=blocking",
                *server_flags,
            ],
            MANAGER: [
                binaries[MANAGER],
                f"--kubeconfig={self._kubeconfig('manager.kubeconfig', manager)}",
                "--leader-elect=false",
                "--use-service-account-credentials",
                "--secure-port=0",  # another cluster may have the usual port
                "--kube-api-qps=200",
                "--kube-api-burst=400",
                f"--service-account-private-key-file={private_key}",
                f"--root-ca-file={self._ca_file}",
                *manager_flags,
            ],
        }

    def up(self) -> None:
        """Start everything and return when it works."""
        self.start(ETCD)
        self.start(API_SERVER)
        self.wait_ready()
        # Before the controller manager: its garbage collector looks for new kinds only every 30 s.
        self.cluster.apply_crds()
        self.start(MANAGER)
        account = f"{self._server}/api/v1/namespaces/default/serviceaccounts/default"
        self._wait(account, "the controller manager")

    def kubeconfig_through(self, port: int) -> Path:
        """Full rights on the API server, as it is reached through another port of this machine."""
        server = f"https://127.0.0.1:{port}"
        return write_kubeconfig(self._folder / f"{port}.kubeconfig", server, self._ca_file, {"token": self._admin})

    def start(self, name: str) -> None:
        """Start one program, for the first time or again."""
        self._children[name] = Child(self._commands[name], self._folder / f"{name}.log")

    def wait_ready(self) -> None:
        """Return once the API server can be worked with."""
        self._wait(f"{self._server}/readyz", "the API server")

    def kill(self, name: str) -> None:
        """End one program at once."""
        self._children[name].kill()

    def pause(self, name: str) -> None:
        """Stop one program where it is; its connections stay open."""
        self._children[name].process.send_signal(signal.SIGSTOP)

    def go_on(self, name: str) -> None:
        """Let a paused program go on."""
        self._children[name].process.send_signal(signal.SIGCONT)

    def down(self) -> None:
        """End everything; nothing of it is kept, so nothing needs a tidy end."""
        for child in reversed(self._children.values()):
            child.kill()

    def _wait(self, url: str, what: str) -> None:
        wait_until(lambda: answers(url, self._admin, self._ca_file), what, list(self._children.values()))

    def _kubeconfig(self, name: str, token: str) -> Path:
        return write_kubeconfig(self._folder / name, self._server, self._ca_file, {"token": token})


def _chosen_programs() -> dict[str, Path]:
    """Those of the usual version, or of the one of TRAINING_E2E_KUBERNETES; TRAINING_E2E_KUBECTL is a path."""
    minor, kubectl = os.environ.get("TRAINING_E2E_KUBERNETES"), os.environ.get("TRAINING_E2E_KUBECTL")
    chosen = programs((*CONTROL_PLANE, kubernetes(minor))) if minor else programs()
    return chosen | ({"kubectl": Path(kubectl)} if kubectl else {})


@contextmanager
def control_plane(*manager_flags: str, server_flags: Sequence[str] = ()) -> Iterator[ControlPlane]:
    """Run a control plane until the context is left, with further flags for controller manager and API server."""
    binaries = _chosen_programs()
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        plane = ControlPlane(Path(folder), binaries, manager_flags, server_flags)
        try:
            plane.up()
            yield plane
        finally:
            plane.down()


@contextmanager
def bare(*manager_flags: str, server_flags: Sequence[str] = ()) -> Iterator[Cluster]:
    """The API of a control plane that runs until the context is left."""
    with control_plane(*manager_flags, server_flags=server_flags) as plane:
        yield plane.cluster
