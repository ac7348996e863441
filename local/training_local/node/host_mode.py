"""Host mode: what cannot run there, and the folders that stand for mount paths, since nothing can be mounted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from training_controllers.frameworks.mpi.exec_pods import KUBECTL_VOLUME
from training_controllers.frameworks.mpi.objects import CONFIG_VOLUME
from training_controllers.frameworks.mpi.ssh_pods import KEYS_VOLUME, LAUNCH, PORT
from training_local.node import host_ports
from training_local.node.podspec import Container, Pod, Wire
from training_local.node.rewrite import names, relocated
from training_local.node.sandbox.messages import Mount
from training_local.node.volumes import Volumes

_ANYWAY = re.compile(r"/dev/shm(/|$)|(/var)?/tmp$")
"""Where programs find something of the kind without any mount."""
_OF_OPERATOR = frozenset({CONFIG_VOLUME["mountPath"], KUBECTL_VOLUME["mountPath"]})
"""Given to all pods of an MPIJob; those that need them name them."""

_NO_SSH = (
    "host mode cannot run an MPIJob that starts over SSH, because the sshd of every worker needs port "
    f"{PORT} of its own network: start it through kubectl exec, as examples/mpi/mpijob.yaml does, or where "
    "--sandbox netns works"
)


def rejection(pod: Pod) -> str:
    """Why the pod cannot run in host mode, as a sentence; empty if it can."""
    keys = any(volume.get("name") == KEYS_VOLUME["name"] for volume in pod.stored["spec"].get("volumes") or ())
    return _NO_SSH if keys else host_ports.taken(pod)


def rejection_of_job(job: Wire) -> str:
    """The same of the pods that a job will have, as far as it can be said before there are any."""
    starts = (job["metadata"].get("annotations") or {}).get(LAUNCH.annotation)
    return _NO_SSH if "mpiReplicaSpecs" in job["spec"] and starts == "ssh" else ""


def relocate(pod: Pod, volumes: Volumes) -> str:
    """Let the files that the pod has from config maps and the like name the folders in the place of mount paths.

    Nothing may read them yet. Returns what the files say then, old paths included.
    """
    named, texts = relocation(pod, volumes), []
    for file in (each for folder in volumes.of_objects for each in sorted(folder.rglob("*")) if each.is_file()):
        content, mode = file.read_bytes(), file.stat().st_mode & 0o777
        texts.append(_text(content))
        file.chmod(0o600)
        file.write_bytes(named(content))
        file.chmod(mode)
    return "\n".join(texts)


def relocation(pod: Pod, volumes: Volumes) -> Callable[[bytes], bytes]:
    """What a file becomes that names folders in the place of mount paths; a path that means several volumes stays."""
    found: dict[str, set[str]] = {}
    for container in pod.containers:
        for mount in container.volume_mounts:
            if mount.name in volumes.paths and not mount.sub_path_expr:
                source = volumes.paths[mount.name] / mount.sub_path
                found.setdefault(mount.mount_path.rstrip("/"), set()).add(str(source))
    paths = {path: sources.pop() for path, sources in found.items() if len(sources) == 1}
    return lambda content: relocated(_text(content), paths).encode() or content


def _text(content: bytes) -> str:
    """The text of a file; empty if it is none."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""


def unnamed(container: Container, mounts: Sequence[Mount], texts: Iterable[str]) -> list[Mount]:
    """The mounts whose path stands neither in the texts nor in the container's probes: nothing leads to them."""
    own = (container.liveness_probe, container.readiness_probe, container.startup_probe, container.lifecycle)
    everything = "\n".join((*texts, *(str(part) for part in own)))
    return [
        mount
        for mount in mounts
        if mount.source != mount.target
        and mount.target not in _OF_OPERATOR
        and not _ANYWAY.match(mount.target)
        and not names(everything, mount.target)
    ]


def sentence(container: Container, lost: Sequence[Mount]) -> str:
    """Say that mounts have no effect."""
    places = ", ".join(mount.target for mount in lost)
    return (
        f"host mode cannot show container {container.name!r} its volumes at {places}: no other folder can stand for a "
        "path that its command, variables, probes and config maps do not name"
    )
