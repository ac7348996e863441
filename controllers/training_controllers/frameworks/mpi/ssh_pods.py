"""The pods of an MPIJob whose mpirun starts its processes over SSH: no account, no role, no kubectl.

Keys come from a Secret and are copied into memory with the mode that OpenSSH insists on, whoever the container runs
as. Both sides know each other: a worker lets in the job's launcher only, and a launcher talks to its workers only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from training_api.kinds import Job
from training_controllers.frameworks.base import PodsBySlot
from training_controllers.frameworks.mpi.objects import (
    CONFIG_VOLUME,
    DISCOVERY,
    EXECUTABLE,
    HOSTFILE,
    INTERPRETER,
    LAUNCHER,
    READABLE,
    config_name,
    config_path,
    config_volume,
    discover_hosts,
    hostfile,
    launcher_environment,
    mounted,
    unless_given,
)
from training_controllers.frameworks.mpi.ssh_keys import (
    HOST_ALIAS,
    HOST_KEY,
    KNOWN_HOSTS,
    PRIVATE_KEY,
    PUBLIC_KEY,
    secret_fields,
)
from training_controllers.model.annotations import JobAnnotation
from training_controllers.model.names import job_labels, replica_name
from training_controllers.model.owned_objects import CONFIG_MAP, KEYS, NETWORK, OwnedObject
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import PodSpec, env

LAUNCH: Final = JobAnnotation("mpi-launch", ("exec", "ssh"))
"""How the launcher reaches its workers."""
PORT: Final = 2222
"""Where workers listen: above 1023, so that no user has to be root."""
PATIENCE: Final = 300
"""Seconds for which the launcher waits for the name of a worker, and then for its daemon."""
AGENT: Final = "ssh.sh"
CLIENT_CONFIG: Final = "ssh_config"
DAEMON: Final = "sshd.sh"
DAEMON_CONFIG: Final = "sshd_config"
SESSION: Final = "session.sh"
KEY_FOLDER: Final = "/etc/mpi-keys"
MEMORY: Final = "/run/mpi"
KEYS_VOLUME: Final = {"name": "mpi-job-keys", "mountPath": KEY_FOLDER, "readOnly": True}
MEMORY_VOLUME: Final = {"name": "mpi-job-memory", "mountPath": MEMORY}


def worker(job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """A worker: its first container runs the daemon unless the user gives a command."""
    first = spec["containers"][0]
    serving = {} if first.get("command") else {"command": [config_path(DAEMON)], "args": []}
    main = {**first, **serving, **mounted(first, CONFIG_VOLUME, KEYS_VOLUME, MEMORY_VOLUME)}
    # The daemons of Open MPI do not start where the agent is missing, though they never call it.
    scripts = {AGENT: EXECUTABLE, DAEMON: EXECUTABLE, DAEMON_CONFIG: READABLE, SESSION: EXECUTABLE}
    volumes = _volumes(job, scripts, {HOST_KEY: HOST_KEY, PUBLIC_KEY: "authorized_keys"})
    return {**spec, **_host(job, slot), **_extended(spec, main, volumes)}


def launcher(job: Job, spec: PodSpec) -> PodSpec:
    """The launcher; its service account is the user's affair."""
    first = spec["containers"][0]
    agent = config_path(AGENT)
    further = [
        # Otherwise more than 64 workers log in to each other, which none of them has a key for.
        env("OMPI_MCA_plm_rsh_no_tree_spawn", 1),
        env("PRTE_MCA_plm_ssh_no_tree_spawn", 1),
    ]
    variables = [*launcher_environment(job, first, agent), *unless_given(first, further)]
    main = {
        **first,
        "env": [*(first.get("env") or ()), *variables],
        **mounted(first, CONFIG_VOLUME, KEYS_VOLUME, MEMORY_VOLUME),
    }
    scripts = {AGENT: EXECUTABLE, CLIENT_CONFIG: READABLE, HOSTFILE: READABLE, DISCOVERY: EXECUTABLE}
    volumes = _volumes(job, scripts, {PRIVATE_KEY: PRIVATE_KEY, KNOWN_HOSTS: KNOWN_HOSTS})
    return {**spec, **_host(job, Slot(LAUNCHER, 0)), **_extended(spec, main, volumes)}


def _host(job: Job, slot: Slot) -> Mapping[str, str]:
    """What gives a pod its name in the job's network."""
    return {"hostname": replica_name(job, slot), "subdomain": network_name(job)}


def _volumes(job: Job, scripts: Mapping[str, int], keys: Mapping[str, str]) -> tuple[Mapping[str, Any], ...]:
    """A pod's scripts, its share of the keys, and memory for copies of them."""
    items = [{"key": key, "path": path, "mode": READABLE} for key, path in keys.items()]
    return (
        config_volume(job, scripts),
        {"name": KEYS_VOLUME["name"], "secret": {"secretName": keys_name(job), "items": items}},
        {"name": MEMORY_VOLUME["name"], "emptyDir": {"medium": "Memory"}},
    )


def _extended(spec: PodSpec, main: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "containers": [main, *spec["containers"][1:]],
        "volumes": [*(spec.get("volumes") or ()), *volumes],
    }


def owned_objects(job: Job, pods_by_slot: PodsBySlot) -> tuple[OwnedObject, ...]:
    """Scripts and host list; the service that gives pods their names; the keys."""
    network = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": job_labels(job)}
    return (
        OwnedObject(CONFIG_MAP, config_name(job), {"data": files(job, pods_by_slot)}),
        OwnedObject(NETWORK, network_name(job), {"spec": network}),
        OwnedObject(KEYS, keys_name(job), generate=secret_fields),
    )


def network_name(job: Job) -> str:
    """Name of the headless service, which is the subdomain of the pods."""
    return f"{job.metadata.name}-mpi"


def keys_name(job: Job) -> str:
    """Name of the Secret: no other job's, not even an earlier one's of the same name, is ever taken for it."""
    return f"{job.metadata.name}-mpi-{job.metadata.uid}"


def files(job: Job, pods_by_slot: PodsBySlot) -> dict[str, str]:
    """The content of the config map."""
    return {
        HOSTFILE: hostfile(job),
        DISCOVERY: discover_hosts(job, pods_by_slot),
        AGENT: _agent(job),
        CLIENT_CONFIG: _client_config(job),
        DAEMON: _daemon(),
        DAEMON_CONFIG: _daemon_config(),
        SESSION: _session(),
    }


def _agent(job: Job) -> str:
    """What mpirun calls with a host and a command; OpenSSH does not take a key that others may read."""
    return f"""{INTERPRETER}
# Runs a command on a worker: ssh.sh HOST COMMAND...
umask 077
key={MEMORY}/{PRIVATE_KEY}
[ -s "$key" ] || {{ cp {KEY_FOLDER}/{PRIVATE_KEY} "$key.$$" && mv "$key.$$" "$key"; }} || exit
# A worker has a name as soon as it has an address.
has_name() {{ ! command -v getent >/dev/null || getent hosts "$1.{network_name(job)}" >/dev/null; }}
seconds=0
until has_name "$1" || [ "$seconds" -ge {PATIENCE} ]; do
  sleep 1
  seconds=$((seconds + 1))
done
exec ssh -F {config_path(CLIENT_CONFIG)} -i "$key" "$@"
"""


def _client_config(job: Job) -> str:
    return f"""HostName %h.{network_name(job)}
Port {PORT}
HostKeyAlias {HOST_ALIAS}
UserKnownHostsFile {KEY_FOLDER}/{KNOWN_HOSTS}
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
UpdateHostKeys no
PreferredAuthentications publickey
IdentitiesOnly yes
BatchMode yes
ConnectTimeout 10
ConnectionAttempts {PATIENCE}
LogLevel ERROR
"""


def _daemon() -> str:
    """Starts the daemon; its sessions find what the container was started with, as they do with `kubectl exec`."""
    return f"""{INTERPRETER}
# Waits for the launcher of the job: sshd.sh
umask 077
cp {KEY_FOLDER}/{HOST_KEY} {MEMORY}/{HOST_KEY} || exit
export -p >{MEMORY}/environment
pwd >{MEMORY}/folder
# Root's daemon locks its network process into this folder.
[ "$(id -u)" -ne 0 ] || (umask 022 && mkdir -p /run/sshd)
PATH=$PATH:/usr/sbin:/usr/local/sbin
daemon=$(command -v sshd) || {{ echo "there is no sshd in this image, see docs/mpi.md" >&2; exit 127; }}
exec "$daemon" -D -e -f {config_path(DAEMON_CONFIG)}
"""


def _daemon_config() -> str:
    return f"""Port {PORT}
HostKey {MEMORY}/{HOST_KEY}
AuthorizedKeysFile {KEY_FOLDER}/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
# sshd considers the folder of a Secret writable by all users.
StrictModes no
UsePAM no
DisableForwarding yes
PidFile none
ForceCommand {config_path(SESSION)}
"""


def _session() -> str:
    return f"""{INTERPRETER}
# Runs what the launcher asks for with the variables and in the folder of the container.
. {MEMORY}/environment
cd "$(cat {MEMORY}/folder)" || exit
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
