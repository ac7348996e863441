"""What a pod asks for and does not get on the local node, in sentences, so that nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterator

from training_local.node.podspec import Container, Pod, Wire
from training_local.node.probes import ACTIONS, HOOK_ACTIONS, HOOKS


def ignored(pod: Pod, mode: str, user: int) -> Iterator[str]:
    """One sentence per field without effect; `user` is the user id that every process has."""
    if pod.spec.host_network and mode != "host":
        yield "hostNetwork has no effect: the pod has a network of its own"
    yield from _user(pod.spec.security_context, "the pod", user)
    for container in pod.containers:
        yield from _of_container(container, mode, user)


def _of_container(container: Container, mode: str, user: int) -> Iterator[str]:
    where = f"container {container.name}"
    probes = {
        "livenessProbe": container.liveness_probe,
        "readinessProbe": container.readiness_probe,
        "startupProbe": container.startup_probe,
    }
    for name, probe in probes.items():
        if probe and not any(action in probe for action in ACTIONS):
            yield f"{name} of {where} is not run (only {', '.join(ACTIONS)} are): it counts as passed"
    for hook, action in (container.lifecycle or {}).items():
        if hook not in HOOKS or not any(known in action for known in HOOK_ACTIONS):
            yield f"lifecycle.{hook} of {where} is not run"
    if mode != "host":
        for port in container.ports:
            if port.host_port:
                yield f"hostPort {port.host_port} of {where} is not opened on the machine"
    yield from _user(container.security_context, where, user)


def _user(context: Wire | None, where: str, user: int) -> Iterator[str]:
    wanted = (context or {}).get("runAsUser", user)
    if wanted != user:
        yield f"runAsUser {wanted} of {where} has no effect: processes run as user {user}"
