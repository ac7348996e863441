"""Pods in namespaces: one user namespace for all of them, and per pod a network, host name, IPC and mount namespace."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn

from training_local.node.sandbox import syscalls
from training_local.node.sandbox.children import Child, fork
from training_local.node.sandbox.messages import BACKLOG, ContainerSpec, ExecSpec, Mount, PodSpec, Setup
from training_local.node.sandbox.netlink import Netlink
from training_local.node.sandbox.nftables import redirect_tcp
from training_local.node.sandbox.view import (
    View,
    build_root,
    make_readonly,
    mount_processes,
    mount_terminals,
    private_devices,
    protect_kernel,
    tmpfs,
)

_BRIDGE = "pods"
_CARD = "eth0"
_LENT_IDS, _LENT_COUNT = 1 << 30, 65535
"""First id outside, and how many: what ids from 1 on inside are there."""
_KINDS = {
    "net": syscalls.CLONE_NEWNET,
    "uts": syscalls.CLONE_NEWUTS,
    "ipc": syscalls.CLONE_NEWIPC,
    "mnt": syscalls.CLONE_NEWNS,
}
# What each kind is missed as; network and mount namespaces are never missing here.
_CAPABILITIES = {"net": "network", "uts": "hostname", "ipc": "ipc", "mnt": "mount"}


def enter_namespaces() -> None:
    """Give this process a user namespace in which it may do everything, with its own user id, and the rest inside it.

    Root's has further ids, so that daemons can give up their rights, as in a container; outside they belong to no user.

    Raises `OSError` with the name of the namespace that this machine denies. Root continues without a user namespace.
    """
    uid, gid = os.geteuid(), os.getegid()
    lender = _Lender() if uid == 0 else None
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
    except OSError as error:
        if uid != 0:
            raise OSError(f"user namespaces are not permitted ({error.strerror})") from error
    else:
        if lender is None or not lender.lend():
            _keep_identity(uid, gid)
    finally:
        if lender is not None:
            lender.end()
    for name, kind in (
        ("mount", syscalls.CLONE_NEWNS),
        ("network", syscalls.CLONE_NEWNET),
        ("process id", syscalls.CLONE_NEWPID),
    ):
        try:
            syscalls.unshare(kind)
        except OSError as error:
            raise OSError(f"{name} namespaces are not permitted ({error.strerror})") from error


class _Lender:
    """A process that stays outside of the new user namespace, because only from there it can be given ids."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        owner = os.getpid()
        self._pid = os.fork()
        if self._pid:
            theirs.close()
            self._connection = ours
            return
        ours.close()
        with suppress(BaseException):
            if theirs.recv(1):
                for kind in ("gid", "uid"):
                    _write(f"/proc/{owner}/{kind}_map", f"0 0 1\n1 {_LENT_IDS} {_LENT_COUNT}\n")
                theirs.send(b"1")
        os._exit(0)

    def lend(self) -> bool:
        """Give this process its ids; whether that was possible. Where root is itself in a namespace, it may not be."""
        self._connection.send(b"1")
        return bool(self._connection.recv(1))

    def end(self) -> None:
        """End that process."""
        self._connection.close()
        os.waitpid(self._pid, 0)


def _keep_identity(uid: int, gid: int) -> None:
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    except OSError as error:
        raise OSError(f"user id {uid} cannot be kept in a user namespace ({error.strerror})") from error


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


class _Pod(NamedTuple):
    """The namespaces of a pod, kept alive by descriptors, and what its containers need to know of it."""

    spec: PodSpec
    namespaces: dict[str, int]
    pause: int
    """Process whose process-id namespace the containers share; 0 if each has its own."""


class IsolatedPods:
    """Makes pods and containers; runs as the first process of a process-id namespace."""

    def __init__(self, setup: Setup) -> None:
        self.missing: dict[str, str] = {}
        """What this machine denies: capability -> reason."""
        self._hidden = setup.hidden
        self._pods: dict[str, _Pod] = {}
        self._cards = 0
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_SLAVE)
        self._attempt("root", lambda: build_root(setup.root))
        self._attempt("proc", lambda: mount_processes("/proc"))
        self._attempt("devices", lambda: private_devices(setup.root))
        self._devices = "/dev" if "devices" in self.missing else setup.root
        for source, target in setup.resolver:
            syscalls.bind(source, target)
        self._resolver = [os.path.realpath(target) for _, target in setup.resolver]
        # Returning to a namespace needs power over it, so this process leaves the machine's first.
        self._attempt("hostname", lambda: syscalls.unshare(syscalls.CLONE_NEWUTS))
        self._attempt("ipc", lambda: syscalls.unshare(syscalls.CLONE_NEWIPC))
        self._home = {
            name: _namespace(name) for name, capability in _CAPABILITIES.items() if capability not in self.missing
        }
        self._own_processes = _namespace("pid")
        self._network = Netlink()
        self._network.up(socket.if_nametoindex("lo"))
        self._network.add_bridge(_BRIDGE)
        self._bridge = socket.if_nametoindex(_BRIDGE)
        self._gateway, prefix = setup.gateway
        if self._gateway:
            self._network.add_address(self._bridge, self._gateway, prefix)
        self._leads_out = False
        if setup.redirect:
            self._attempt("redirect", lambda: self._redirect(setup.redirect))

    def _redirect(self, port: int) -> None:
        """Let connections to the outside end here; what else pods send there is rejected at once."""
        redirect_tcp(self._gateway, port)
        self._leads_out = True
        for setting, value in (("bridge/bridge-nf-call-iptables", "0"), ("ipv4/ip_forward", "1")):
            with suppress(OSError):  # without the first, or before Linux 5.3, packets between pods take a little longer
                _write(f"/proc/sys/net/{setting}", value)

    def _attempt(self, capability: str, step: Callable[[], None]) -> None:
        if capability in self.missing:
            return
        try:
            step()
        except OSError as error:
            self.missing[capability] = str(error)

    def add(self, spec: PodSpec) -> None:
        """Make a pod's namespaces: its card, address and host name, its hosts file and shared memory."""
        with self._elsewhere():
            for name in self._home:
                syscalls.unshare(_KINDS[name])
            self._attempt("hostname", lambda: socket.sethostname(spec.hostname))
            self._connect(spec)
            syscalls.bind(spec.hosts, "/etc/hosts")
            self._attempt("settings", lambda: make_readonly("/sys"))
            if "devices" not in self.missing:
                self._attempt("terminals", mount_terminals)
            tmpfs("/dev/shm", f"mode=1777,size={spec.shm_bytes}")
            for directory, size in spec.memory:
                tmpfs(directory, f"mode=1777,size={size}" if size else "mode=1777")
            pause = self._pause() if spec.share_processes else 0
            self._pods[spec.id] = _Pod(spec, {name: _namespace(name) for name in self._home}, pause)

    @contextmanager
    def _elsewhere(self) -> Iterator[None]:
        try:
            yield
        finally:
            for name, descriptor in self._home.items():
                syscalls.setns(descriptor, _KINDS[name])

    def _connect(self, spec: PodSpec) -> None:
        self._cards += 1
        namespace = _namespace("net")
        try:
            self._network.add_pair(f"pod{self._cards}", _CARD, namespace, self._bridge)
        finally:
            os.close(namespace)
        inside = Netlink()
        try:
            inside.up(socket.if_nametoindex("lo"))
            card = socket.if_nametoindex(_CARD)
            inside.add_address(card, spec.address, spec.prefix)
            inside.up(card)
            if self._leads_out:
                inside.add_default_route(card, self._gateway)
        finally:
            inside.close()
        with suppress(OSError):  # older kernels; then ports below 1024 stay reserved
            _write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")

    def _pause(self) -> int:
        with self._new_processes():
            return os.fork() or _reap_for_ever()

    @contextmanager
    def _new_processes(self) -> Iterator[None]:
        """Let the next child be the first process of a process-id namespace."""
        syscalls.unshare(syscalls.CLONE_NEWPID)
        try:
            yield
        finally:
            syscalls.setns(self._own_processes, syscalls.CLONE_NEWPID)

    @contextmanager
    def _processes_of(self, pid: int) -> Iterator[int]:
        """Let the next child be in the process-id namespace of `pid`; the value is a descriptor of that process."""
        descriptor = os.pidfd_open(pid)
        try:
            syscalls.setns(descriptor, syscalls.CLONE_NEWPID)
            yield descriptor
        finally:
            syscalls.setns(self._own_processes, syscalls.CLONE_NEWPID)
            os.close(descriptor)

    def spawn(self, spec: ContainerSpec, streams: Sequence[int]) -> Child:
        """Start a container in its pod's namespaces and in a process-id and mount namespace of its own."""
        pod = self._pods[spec.pod]
        with self._processes_of(pod.pause) if pod.pause else self._new_processes():
            return fork(lambda: self._enter(pod, spec), spec, streams)

    def spawn_inside(self, spec: ExecSpec, pid: int, streams: Sequence[int]) -> Child:
        """Start a further program in all namespaces of the container whose first process is `pid`."""
        with self._processes_of(pid) as container:
            return fork(lambda: self._join(container), spec, streams, terminal=spec.terminal)

    def _join(self, container: int) -> None:
        for name in self._home:
            syscalls.setns(container, _KINDS[name])
        syscalls.give_up_privileges()

    def open_terminal(self, pod_id: str) -> Sequence[int]:
        """Open a terminal that the pod's containers see below `/dev/pts`: both of its ends."""
        with self._elsewhere():
            syscalls.setns(self._pods[pod_id].namespaces["mnt"], syscalls.CLONE_NEWNS)
            return os.openpty()

    def open_listener(self, port: int) -> int:
        """Open a socket that listens at the gateway, where only the pods here can reach it."""
        return socket.create_server((self._gateway, port), backlog=BACKLOG).detach()

    def open_datagrams(self, port: int) -> int:
        """Open a UDP socket at the gateway."""
        with socket.socket(type=socket.SOCK_DGRAM) as opened:
            opened.bind((self._gateway, port))
            return opened.detach()

    def open_socket(self, pod_id: str, family: int) -> int:
        """Open a TCP socket of the pod's network."""
        with self._elsewhere():
            syscalls.setns(self._pods[pod_id].namespaces["net"], syscalls.CLONE_NEWNET)
            return socket.socket(family).detach()

    def _enter(self, pod: _Pod, spec: ContainerSpec) -> None:
        for name, descriptor in pod.namespaces.items():
            syscalls.setns(descriptor, _KINDS[name])
        syscalls.unshare(syscalls.CLONE_NEWNS)
        if "proc" not in self.missing:
            mount_processes("/proc")
        view = View(private_root="root" not in self.missing, devices=self._devices)
        visible = [*spec.visible, *self._resolver]
        view.show([Mount(*mount) for mount in spec.mounts], [Mount(*mount) for mount in spec.own], visible)
        view.hide([*spec.hidden, self._hidden], visible)
        protect_kernel()
        syscalls.give_up_privileges()

    def end(self, pids: Collection[int]) -> None:
        """Kill what is left of containers whose first processes have ended."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # only found where the pod's containers share process ids

    def remove(self, pod_id: str) -> None:
        """Give up a pod's namespaces, if it still has any; its containers have ended."""
        pod = self._pods.pop(pod_id, None)
        if pod is None:
            return
        if pod.pause:
            os.kill(pod.pause, signal.SIGKILL)
        for descriptor in pod.namespaces.values():
            os.close(descriptor)

    def close(self) -> None:
        """The kernel ends every process of the namespace together with this one."""


def _reap_for_ever() -> NoReturn:
    """Be the first process of a pod whose containers share process ids."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel then reaps orphans
        while True:
            signal.pause()
    finally:
        os._exit(0)


def _namespace(name: str) -> int:
    return os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
