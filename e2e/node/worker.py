"""The node: containerd with our images, kubelet, kube-proxy, and the cluster's DNS as a process beside them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.cluster import Cluster
from e2e.harness.startup import wait_until
from e2e.node import registry
from e2e.node.box import BRIDGE, NODE, Box, entering, execute
from e2e.node.control_plane import ControlPlane
from e2e.node.images import PAUSE, Image, images, write_archive

SOCKET: Final = Path("/run/containerd/containerd.sock")
DOMAIN: Final = "cluster.local"

CONTAINERD: Final = """\
version = 2
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true  # containers of a build machine may lack CAP_SYS_RESOURCE
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{folder}/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    discard_unpacked_layers = true
"""
# Records are never kept, so tests see changes at once; names outside are refused instead of asked for in vain.
COREFILE: Final = """\
{domain}:53 in-addr.arpa:53 {{
    bind {address}
    errors
    kubernetes {domain} in-addr.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 0
    }}
}}
.:53 {{
    bind {address}
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def load(image: Image, folder: Path) -> None:
    """Give an image to the containerd of the running node whose files are in `folder`."""
    archive = folder / "image.tar"
    try:
        write_archive(image, archive)
        pid = (folder / "pid").read_text()
        execute(*entering(pid, "/usr/bin/ctr", "--namespace=k8s.io", "images", "import", archive))
    finally:
        archive.unlink(missing_ok=True)


class Worker:
    """Starts the node's programs in the box."""

    def __init__(self, box: Box, binaries: Mapping[str, Path], control_plane: ControlPlane) -> None:
        self._box = box
        self._place = box.place
        self._binaries = binaries
        self._control_plane = control_plane
        self._folder = box.place.folder

    def start_containers(self) -> None:
        """Start containerd and give it the images."""
        network = self._folder / "cni" / "10-bridge.conflist"
        network.parent.mkdir()
        network.write_text(json.dumps(self._network()))
        self._start_registry()
        settings = self._folder / "containerd.toml"
        settings.write_text(CONTAINERD.format(pause=PAUSE, folder=self._folder))
        containerd = self._box.start("/usr/bin/containerd", f"--config={settings}")
        # The socket lies in the box; through the root of a process in there it is seen from outside.
        seen = Path(f"/proc/{self._box.pid}/root{SOCKET}")
        wait_until(seen.exists, "containerd", [containerd])
        for image in images(self._binaries):
            load(image, self._folder)

    def _start_registry(self) -> None:
        hosts = self._folder / "registries" / "_default" / "hosts.toml"
        for folder in (hosts.parent, self._folder / registry.FOLDER):
            folder.mkdir(parents=True)
        hosts.write_text(registry.HOSTS)
        # Its own folder would come before the standard library.
        self._box.start(sys.executable, "-P", registry.SERVER, self._folder / registry.FOLDER, str(registry.PORT))

    def start_node(self) -> None:
        """Start kubelet, kube-proxy and DNS."""
        (self._folder / "resolv.conf").touch()
        kubelet = self._settings("kubelet", self._kubelet())
        self._box.start(
            self._binaries["kubelet"],
            f"--config={kubelet}",
            f"--kubeconfig={self._control_plane.kubeconfig(f'system:node:{NODE}')}",
            f"--hostname-override={NODE}",
            f"--node-ip={self._place.address}",
        )
        proxy = self._settings("kube-proxy", self._proxy())
        self._box.start(self._binaries["kube-proxy"], f"--config={proxy}")
        corefile = self._folder / "Corefile"
        kubeconfig = self._control_plane.kubeconfig("admin")
        corefile.write_text(COREFILE.format(domain=DOMAIN, address=self._place.address, kubeconfig=kubeconfig))
        self._box.start(self._binaries["coredns"], "-conf", corefile)

    def wait_for_node(self, cluster: Cluster) -> None:
        """Return once pods can run."""
        ready = '{.status.conditions[?(@.type=="Ready")].status}'
        show = ("get", "node", NODE, "--ignore-not-found", f"--output=jsonpath={ready}")
        wait_until(lambda: cluster.run_kubectl(*show) == "True", "the kubelet", self._box.children)

    def _settings(self, name: str, content: Mapping[str, Any]) -> Path:
        path = self._folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content))  # kube-proxy takes YAML in flow style for JSON
        return path

    def _network(self) -> dict[str, Any]:
        subnet = self._place.pods.removesuffix("0/24")
        addresses = {
            "subnet": self._place.pods,
            "rangeStart": f"{subnet}16",
            "rangeEnd": f"{subnet}250",
            "gateway": self._place.address,
        }
        ipam = {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[addresses]]}
        bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipam": ipam}
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}

    def _kubelet(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._place.address,
            "healthzPort": 0,
            # Only the host and the pods can reach it.
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._place.name}/{NODE}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "enforceNodeAllocatable": [],
            "clusterDNS": [self._place.address],
            "clusterDomain": DOMAIN,
            "resolvConf": str(self._folder / "resolv.conf"),
            # Images cannot be pulled again, so they must not be collected.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "0%",
                "imagefs.available": "0%",
                "nodefs.inodesFree": "0%",
            },
            "nodeStatusUpdateFrequency": "5s",
            "volumePluginDir": str(self._folder / "volume-plugins"),
            "featureGates": {"KubeletCrashLoopBackOffMax": True},
            "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        }

    def _proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "hostnameOverride": NODE,
            "clientConnection": {"kubeconfig": str(self._control_plane.kubeconfig("system:kube-proxy"))},
            "clusterCIDR": self._place.pods,
            "oomScoreAdj": 0,
            # The machine's settings of connection tracking are not ours to change.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        }
