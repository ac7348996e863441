"""etcd, API server, controller manager and scheduler in the box, with the access rules of a real cluster."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from e2e.harness.cluster import write_kubeconfig
from e2e.harness.startup import answers, private_file, service_account_keys, wait_until
from e2e.node.box import NODE, Box

GANGS: Final = "scheduler-plugins-scheduler"
"""Name of the scheduler that places gangs, as the Helm chart of scheduler-plugins has it."""
USERS: Final = {
    "admin": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
    "system:kube-proxy": "",
    f"system:node:{NODE}": "system:nodes",
}
"""Group of everybody who has a token; the built-in roles fit these names."""


class ControlPlane:
    """Starts the control plane's programs and makes kubeconfigs for the others."""

    def __init__(self, box: Box, binaries: Mapping[str, Path]) -> None:
        self._box = box
        self._binaries = binaries
        self._folder = box.place.folder
        self._server = f"https://{box.place.address}:6443"
        self._authority = self._folder / "pki" / "apiserver.crt"
        """Written by the API server at its start."""
        self._tokens = {user: secrets.token_urlsafe(24) for user in USERS}
        self._private_key, self._public_key = service_account_keys(self._folder)

    def start_api(self) -> None:
        """Start etcd and the API server."""
        lines = (f'{self._tokens[user]},{user},{user},"{group}"\n' for user, group in USERS.items())
        tokens = private_file(self._folder / "tokens.csv", "".join(lines))
        etcd = self._folder / "etcd"
        self._box.start(self._binaries["etcd"], f"--data-dir={etcd}", "--unsafe-no-fsync", "--log-level=warn")
        self._box.start(
            self._binaries["kube-apiserver"],
            "--etcd-servers=http://127.0.0.1:2379",
            f"--bind-address={self._box.place.address}",
            "--secure-port=6443",
            f"--cert-dir={self._authority.parent}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",
            f"--service-cluster-ip-range={self._box.place.services}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._public_key}",
            f"--service-account-signing-key-file={self._private_key}",
            # Or logs and exec would need the node's name in the host's /etc/hosts.
            "--kubelet-preferred-address-types=InternalIP",
        )

    def wait_for_api(self) -> None:
        """Return once the API server says that it is ready."""
        self._wait("/readyz", "the API server")

    def start_controllers(self) -> None:
        """Start the controller manager and the scheduler."""
        self._box.start(
            self._binaries["kube-controller-manager"],
            f"--kubeconfig={self.kubeconfig('system:kube-controller-manager')}",
            "--leader-elect=false",
            "--use-service-account-credentials",
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            f"--service-account-private-key-file={self._private_key}",
            f"--root-ca-file={self._authority}",
        )
        self._box.start(
            self._binaries["kube-scheduler"],
            f"--kubeconfig={self.kubeconfig('system:kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
        )

    def start_coscheduler(self) -> None:
        """Start the scheduler of gangs, beside the usual one; the kinds of its PodGroups must be served."""
        plugin = [{"name": "Coscheduling"}]
        profile = {
            "schedulerName": GANGS,
            "plugins": {
                "multiPoint": {"enabled": plugin},
                "queueSort": {"enabled": plugin, "disabled": [{"name": "*"}]},
            },
        }
        settings = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            # The built-in role of schedulers does not know PodGroups.
            "clientConnection": {"kubeconfig": str(self.kubeconfig("admin"))},
            "profiles": [profile],
        }
        file = self._folder / "coscheduler.json"
        file.write_text(json.dumps(settings))
        self._box.start(self._binaries["coscheduler"], f"--config={file}", "--secure-port=0")

    def wait_for_controllers(self) -> None:
        """Return once pods can be created: they need the account that the controller manager makes."""
        self._wait("/api/v1/namespaces/default/serviceaccounts/default", "the controller manager")

    def kubeconfig(self, user: str) -> Path:
        """A file with which `user` reaches the API server."""
        path = self._folder / f"{user.replace(':', '-')}.kubeconfig"
        return write_kubeconfig(path, self._server, self._authority, {"token": self._tokens[user]})

    def _wait(self, path: str, what: str) -> None:
        url, token = f"{self._server}{path}", self._tokens["admin"]
        wait_until(lambda: answers(url, token, self._authority), what, self._box.children)
