"""What a worker needs to let its launcher in over SSH, and a launcher to log in, with the keys that the policy mounts.

OpenSSH rejects files with the modes of a mounted Secret: the client gets a copy of its key, the server does not check
modes (StrictModes). A session has the variables and the folder of the container, like one of `kubectl exec`. Root is
not needed, and nothing of the image's own configuration is read.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final

from training_controllers.model.pod_spec import env
from training_migration.convert.containers import main_of
from training_migration.convert.context import SSH_PORT, Json
from training_migration.convert.launchers import words
from training_migration.convert.wrapper import wrapped

MEMORY: Final = "/run/mpi"
"""Where a launcher's copy of its key lies."""
SCRATCH: Final = "/tmp/mpi"
"""Where a worker keeps its host key and what its sessions need."""
KEY_VOLUME: Final = "mpi-key"
SECRET_VOLUME: Final = "mpi-ssh-auth"
"""Name of the volume that the policy adds."""
HOSTS_VOLUME: Final = "mpi-hostfile"
"""Likewise, with the list of hosts."""
AGENT: Final = (
    f"ssh -p {SSH_PORT} -i {MEMORY}/id_rsa -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR"
    " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
)
"""What logs in to a worker."""
WRAPPER: Final = "with-sshd"
SESSION: Final = f'. {SCRATCH}/environment; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'


def with_daemon(template: Json, keys: str) -> Json:
    """A worker that lets in whoever has the key; a command of its own runs next to the server."""
    main = main_of(template)
    if "sshd" in " ".join(words(main)):
        return template
    options = [
        f"Port={SSH_PORT}",
        f"HostKey={SCRATCH}/host_key",
        f"AuthorizedKeysFile={keys}/authorized_keys",
        "PasswordAuthentication=no",
        "StrictModes=no",
        "UsePAM=no",
        "PidFile=none",
    ]
    server = " ".join(["/usr/sbin/sshd -e -f /dev/null", *(f"-o {option}" for option in options)])
    lines = [
        "set -e",
        f"mkdir -p {SCRATCH} /run/sshd 2>/dev/null || mkdir -p {SCRATCH}",
        f"(umask 077; {{ export -p; echo \"cd '$PWD'\"; }} >{SCRATCH}/environment)",
        f"rm -f {SCRATCH}/host_key",
        f"ssh-keygen -q -t ed25519 -N '' -f {SCRATCH}/host_key",
    ]
    start = f"{server} -o 'ForceCommand={SESSION}'"
    if main.get("command"):
        wrapped(main, [*lines, start], WRAPPER)
    else:
        main["command"] = ["sh", "-c", "\n".join([*lines, f"exec {start} -D"]) + "\n"]
        main.pop("args", None)
    main.setdefault("readinessProbe", {"tcpSocket": {"port": SSH_PORT}, "periodSeconds": 2})
    return template


def with_client(template: Json, keys: str, hosts: str, *, waits: bool) -> Json:
    """A launcher whose mpirun (Open MPI 4 and 5) logs in to the hosts of this file.

    `waits`: it does not start before all other hosts let it in.
    """
    main = main_of(template)
    variables = [
        env("OMPI_MCA_plm_rsh_agent", AGENT),
        env("OMPI_MCA_plm_rsh_no_tree_spawn", 1),
        env("PRTE_MCA_plm_ssh_agent", AGENT),
        env("PRTE_MCA_plm_ssh_no_tree_spawn", 1),
        env("PRTE_MCA_prte_default_hostfile", hosts),
    ]
    given = {variable.get("name") for variable in main.get("env") or ()}
    main["env"] = [*(main.get("env") or ()), *(each for each in variables if each["name"] not in given)]
    mount = {"name": KEY_VOLUME, "mountPath": MEMORY}
    main["volumeMounts"] = [*(main.get("volumeMounts") or ()), mount]
    pod = dict(template["spec"])
    key = _copy_of_key(main, keys, mount, hosts if waits else "")
    pod["initContainers"] = [*(pod.get("initContainers") or ()), key]
    pod["volumes"] = [*(pod.get("volumes") or ()), {"name": KEY_VOLUME, "emptyDir": {"medium": "Memory"}}]
    _let_read(pod, main)
    return {**template, "spec": pod}


def _copy_of_key(main: Json, keys: str, mount: Json, hosts: str) -> Json:
    """The init container that copies the key; it runs as who the launcher runs as, who thus owns the copy."""
    inherited: Json = {name: main[name] for name in ("image", "imagePullPolicy", "securityContext") if name in main}
    copy = f"umask 077; cp {keys}/id_rsa {MEMORY}/id_rsa"
    mounts = [{"name": SECRET_VOLUME, "mountPath": keys}, mount]
    if hosts:
        copy += f"""
while read -r host rest; do
  case $host in "$(hostname)".*) continue ;; esac
  until {AGENT} -n "$host" true; do sleep 1; done
done <{hosts}
"""
        mounts.append({"name": HOSTS_VOLUME, "mountPath": str(PurePosixPath(hosts).parent)})
    return {"name": KEY_VOLUME, **inherited, "command": ["sh", "-c", copy], "volumeMounts": mounts}


def _let_read(pod: dict[str, Any], main: Json) -> None:
    """Give the key to the group of a user who is not root: mounted files belong to root."""
    context = pod.get("securityContext") or {}
    own = main.get("securityContext") or {}
    user = own.get("runAsUser", context.get("runAsUser", 0))
    if user and "fsGroup" not in context:
        pod["securityContext"] = {**context, "fsGroup": own.get("runAsGroup", context.get("runAsGroup", user))}
