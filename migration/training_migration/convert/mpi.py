"""MPIJob: the policy `mpi`. Where v1's mpirun enters its workers with kubectl, v2's logs in over SSH."""

from __future__ import annotations

import re
from typing import Final

from training_api.models.mpi import MPIJobSpec
from training_controllers.frameworks.mpi.framework import over_ssh
from training_controllers.frameworks.mpi.objects import LAUNCHER, WORKER, has_gpu_launcher
from training_controllers.model.pod_spec import CannotBuild, env
from training_migration.convert.containers import checked_template, for_node, main_of, with_sidecars, without_env
from training_migration.convert.context import SSH_PORT, Context, Json
from training_migration.convert.launchers import Launcher, launcher_of, words
from training_migration.convert.lifecycle import job_limits, with_restart_policy
from training_migration.convert.mpi_ssh import with_client, with_daemon
from training_migration.convert.plan import Group, Plan
from training_migration.findings import Severity
from training_migration.v2.names import NODE, RESERVED

GROUP: Final = "launcher"
"""The replicated job that the policy takes for the launcher."""
V1_AGENT: Final = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "I_MPI_HYDRA_BOOTSTRAP_EXEC")
HOSTFILE: Final = "/etc/mpi/hostfile"
KEYS: Final = "/etc/mpi-keys"
"""Where the policy mounts the keys; not in a home folder, because OpenSSH rejects a key with such rights."""
GONE: Final = re.compile(r"kubectl|kubexec\.sh|discover_hosts\.sh")
"""What v1 puts into the launcher, and v2 does not."""
WITH_SSH: Final = re.compile(r"(^|/)(mpioperator|horovod)/")
"""Images with a server and a client, for which MPI jobs of v2beta1 are made too."""
OTHER_MPI: Final = re.compile(r"intel|impi|mpich|mvapich", re.IGNORECASE)


def plan(context: Context) -> Plan:
    """Workers are the nodes; the launcher starts when they are ready, and its success is the job's."""
    for name in context.job.job.replicas:
        if not (context.replica(name).template.get("spec") or {}).get("containers"):
            raise CannotBuild(f"{name} has no container")
    workers, as_node = context.count(WORKER), has_gpu_launcher(context.job.job)
    _note_what_is_gone(context)
    if not workers:
        return _launcher_alone(context)
    slots = context.spec(MPIJobSpec).slots_per_worker or 1
    if as_node:
        text = "the launcher stays the first host; so that it can, it waits for the workers by itself."
        context.notes.add("MIG212", text, context.path(LAUNCHER), fixed=True)
    elif gpu_names(context):
        context.notes.add("MIG509", f"numProcPerNode says {slots}, so that v2 does not count GPUs.", fixed=True)
    launcher = _launcher(context, as_node=as_node)
    # The order of the groups is that of the hosts; a group that waits for another one has to come later.
    groups = [launcher, _nodes(context)] if as_node else [_nodes(context), launcher]
    return Plan(
        framework="mpi",
        groups=groups,
        policy={
            "numNodes": 1,
            "mpi": {
                "numProcPerNode": slots,
                "mpiImplementation": "OpenMPI",
                "sshAuthMountPath": KEYS,
                "runLauncherAsNode": as_node,
            },
        },
        trainer={"numNodes": workers + 1 if as_node else workers, "numProcPerNode": slots},
        succeeds_with=[GROUP],
        network={"publishNotReadyAddresses": True},
    )


def _without_ssh(context: Context, replica_type: str) -> Severity:
    """How bad it is that an image needs SSH; images of some projects have it, and so have those of jobs that use it."""
    image = str(main_of(context.replica(replica_type).template, context.main_container(replica_type)).get("image", ""))
    return Severity.INFO if over_ssh(context.job.job) or WITH_SSH.search(image) else Severity.ERROR


def gpu_names(context: Context) -> bool:
    """Whether a worker has GPUs."""
    containers = (context.replica(WORKER).template.get("spec") or {}).get("containers") or ()
    return any("gpu" in name for each in containers for name in ((each.get("resources") or {}).get("limits") or {}))


def _nodes(context: Context) -> Group:
    template = for_node(context, WORKER, checked_template(context, WORKER))
    path = context.path(WORKER, f"template.spec.containers[{context.main_container(WORKER)}]")
    context.notes.add(
        "MIG207",
        "the image needs an SSH server (/usr/sbin/sshd, ssh-keygen) and a shell: in a Dockerfile"
        " `RUN apt-get update && apt-get install -y openssh-server openssh-client`.",
        f"{path}.image",
        severity=_without_ssh(context, WORKER),
    )
    template = with_daemon(template, KEYS)
    template = with_sidecars(context, WORKER, template, NODE)
    template = with_restart_policy(context, WORKER, template)
    return Group(NODE, template, job_limits(context, WORKER), context.count(WORKER))


def _launcher(context: Context, *, as_node: bool) -> Group:
    template = for_node(context, LAUNCHER, checked_template(context, LAUNCHER))
    main = main_of(template)
    path = context.path(LAUNCHER, f"template.spec.containers[{context.main_container(LAUNCHER)}]")
    text, severity = "the image needs an SSH client.", _without_ssh(context, LAUNCHER)
    context.notes.add("MIG207", text, f"{path}.image", severity=severity)
    _drop_own(context, main, path)
    launcher = launcher_of(main.get("command"), main.get("args"))
    if launcher.needs_check:
        text = f"{launcher} logs in to workers by its own rules: port {SSH_PORT}, key {KEYS}/id_rsa."
        context.notes.add("MIG115", text, f"{path}.command")
    elif launcher is not Launcher.MPIRUN:
        text = f"that mpirun is called cannot be seen; another program has to log in by itself: port {SSH_PORT}."
        context.notes.add("MIG115", text, f"{path}.command")
    main["env"] = [*(main.get("env") or ()), *_gpu_variables(context)]
    template = with_client(template, KEYS, HOSTFILE, waits=as_node)
    template = with_sidecars(context, LAUNCHER, template, NODE)
    template = with_restart_policy(context, LAUNCHER, template)
    return Group(GROUP, template, job_limits(context, LAUNCHER), 1, trains=True, after="" if as_node else NODE)


def _launcher_alone(context: Context) -> Plan:
    """A launcher without workers needs neither keys nor hosts."""
    template = for_node(context, LAUNCHER, checked_template(context, LAUNCHER))
    main = main_of(template)
    variables = [*(main.get("env") or ()), *_gpu_variables(context)]
    if variables:
        main["env"] = variables
    template = with_sidecars(context, LAUNCHER, template, NODE)
    context.notes.add("MIG210", "without workers the launcher runs all ranks itself, in a plain runtime.", fixed=True)
    template = with_restart_policy(context, LAUNCHER, template)
    group = Group(GROUP, template, job_limits(context, LAUNCHER), 1, trains=True)
    return Plan(framework="plainml", groups=[group], policy={"numNodes": 1}, trainer={"numNodes": 1})


def _drop_own(context: Context, main: Json, path: str) -> None:
    for name in sorted(without_env(main, [*RESERVED["mpi"], *V1_AGENT[:1]])):
        text = f"variable {name} of the template is dropped: the operator of v1 set it itself, and v2 does."
        context.notes.add("MIG104", text, f"{path}.env", fixed=True)


def _gpu_variables(context: Context) -> list[Json]:
    """Without GPUs of its own the launcher must not see those of its machine."""
    if has_gpu_launcher(context.job.job):
        return []
    return [env("NVIDIA_VISIBLE_DEVICES", ""), env("NVIDIA_DRIVER_CAPABILITIES", "")]


def _note_what_is_gone(context: Context) -> None:
    for name in context.job.job.replicas:
        for container in (context.replica(name).template.get("spec") or {}).get("containers") or ():
            path = context.path(name, f"template.spec.containers[{container.get('name')}]")
            if gone := sorted(set(GONE.findall("\n".join(words(container))))):
                context.notes.add(
                    "MIG211",
                    f"{', '.join(gone)} is not there in v2: name the fixed hosts, -np N --hostfile {HOSTFILE}.",
                    f"{path}.command",
                )
            variables = " ".join(str(each.get("name")) for each in container.get("env") or ())
            if OTHER_MPI.search(str(container.get("image", ""))) or "I_MPI_" in variables:
                text = "this looks like another MPI than Open MPI, the only one that v2 knows."
                context.notes.add("MIG209", text, f"{path}.image")
