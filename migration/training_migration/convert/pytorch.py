"""PyTorchJob: the policy `torch`; v1's variables for programs without a launcher; rendezvous settings; fixed size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from training_api.models.pytorch import PyTorchElasticPolicy, PyTorchJobSpec
from training_controllers.frameworks.pytorch.framework import MASTER, WORKER, environment
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import env
from training_migration.choices import CompatEnv
from training_migration.convert.asymmetric import one_template
from training_migration.convert.compat import (
    slots_of,
    translated,
    unbuffered,
    v1_variables,
)
from training_migration.convert.containers import checked_template, main_of, mentioned, without_env
from training_migration.convert.context import Context, Json
from training_migration.convert.devices import cpus, gpus, other_accelerators
from training_migration.convert.elasticity import names_processes, names_rendezvous, size_of
from training_migration.convert.launchers import Launcher, launcher_of
from training_migration.convert.lifecycle import Decides
from training_migration.convert.nodes import hosts_of, node_group, node_template, note_ranks
from training_migration.convert.plan import Plan
from training_migration.convert.split import split
from training_migration.findings import Severity
from training_migration.v2.names import NODE, PORT, RESERVED

COMPAT: Final = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
PORTS: Final = ("MASTER_PORT", "PET_MASTER_PORT")
AUTO: Final = "auto"


def plan(context: Context) -> Plan:
    """Master and workers are the nodes, in this order; where their templates differ they stay two groups."""
    types = [name for name in (MASTER, WORKER) if context.count(name)]
    templates = {name: checked_template(context, name) for name in types}
    _note_elasticity(context, templates)
    template: Json | None = templates[types[0]]
    if len(types) == 2:
        template = one_template(context, MASTER, WORKER, templates)
    if template is None:
        return split(context, MASTER, WORKER, environment)
    return _nodes(context, template, types)


def _nodes(context: Context, template: Json, types: list[str]) -> Plan:
    """One group for the policy `torch`."""
    hosts = hosts_of(context, types)
    nodes, last = len(hosts), types[-1]
    variables = v1_variables(context, environment, hosts, ports=PORTS)
    main = next(each for each in template["spec"]["containers"] if each["name"] == context.main_container(last))
    launcher = launcher_of(main.get("command"), main.get("args"))
    mentions = mentioned(main, COMPAT)
    given = [each for each in variables if each["name"] not in ("PET_NNODES", "PET_RDZV_ENDPOINT")]
    template = node_template(context, last, template, variables, [*given, env("PET_NNODES", nodes)])
    _drop_reserved(context, template, context.path(last, "template.spec.containers"))
    processes = _processes(context, main_of(template), launcher)
    trainer: Json = {
        "numNodes": nodes,
        **({} if processes is None else {"numProcPerNode": processes}),
        "env": [
            *unbuffered(context, variables),
            *_compat(context, variables, launcher, mentions, meets_by_itself=names_rendezvous(main)),
            *_rendezvous(context, hosts),
        ],
    }
    note_ranks(context, MASTER, WORKER)
    return Plan(
        framework="torch",
        groups=[node_group(context, last, template, nodes, _decides(context, nodes))],
        policy={"numNodes": nodes, "torch": {}},
        trainer={key: value for key, value in trainer.items() if value != []},
    )


def _decides(context: Context, nodes: int) -> Decides:
    """The master; without one any worker of an elastic job, else all."""
    if nodes == 1:
        return Decides.ALL
    if context.count(MASTER):
        return Decides.FIRST
    return Decides.ALL if context.spec(PyTorchJobSpec).elastic_policy is None else Decides.ANY


def _compat(
    context: Context, variables: list[Json], launcher: Launcher, mentions: list[str], *, meets_by_itself: bool
) -> list[Json]:
    """The variables that a program without a launcher reads, where they are needed."""
    master = bool(context.count(MASTER))
    path = context.path(MASTER if master else WORKER, "template.spec.containers")
    if launcher.needs_check:
        context.notes.add("MIG115", f"{launcher} has its own rules: check where it finds its peers.", path)
    if not master:
        if context.spec(PyTorchJobSpec).elastic_policy is None and not meets_by_itself:
            text = "v1 gives workers without a master no rank and address; v2 sets PET_NODE_RANK and PET_MASTER_ADDR."
            context.notes.add("MIG108", text, path)
        return []
    chosen = [each for each in variables if each["name"] in COMPAT]
    option = context.options.compat_env
    needed = option is CompatEnv.ALWAYS or (option is CompatEnv.AUTO and (not launcher.sets_ranks or bool(mentions)))
    single = sum(context.count(name) for name in (MASTER, WORKER)) == 1
    if mentions:
        text = f"{', '.join(mentions)} in the command line or in variables of the template"
        context.notes.add(
            "MIG103",
            f"{text} keep their meaning by v1's variables." if needed else f"{text} have no value in v2.",
            path,
            fixed=needed,
        )
    if launcher is Launcher.ABSENT:
        text = "without a command it is unknown whether the image starts torchrun"
        end = "; v1's variables are set, which do it no harm." if needed else "; without it every node trains alone."
        context.notes.add("MIG112", text + end, path, fixed=needed)
    elif launcher is Launcher.PYTHON or (launcher is Launcher.UNKNOWN and needed):
        end = "; v1's variables are set." if needed else "; every node would train alone."
        context.notes.add(
            "MIG101", "the command starts no launcher that knows ranks" + end, path, fixed=needed or single
        )
    return chosen if needed else []


def _drop_reserved(context: Context, template: Json, path: str) -> None:
    for container in template["spec"]["containers"]:
        if container.get("name") != NODE:
            continue
        for name in sorted(without_env(container, RESERVED["torch"])):
            context.notes.add("MIG104", f"{name} of the template is dropped: the policy sets it itself.", path)


def _processes(context: Context, main: Json, launcher: Launcher) -> int | None:
    """`numProcPerNode`; None leaves it to v2, which takes the number of GPUs."""
    spec = context.spec(PyTorchJobSpec)
    elastic = spec.elastic_policy
    nproc = spec.nproc_per_node or str(elastic.n_proc_per_node if elastic and elastic.n_proc_per_node else AUTO)
    if re.fullmatch(r"[+]?[0-9]{1,9}", nproc):
        if int(nproc) > 1 and launcher is Launcher.PYTHON:
            text = f"python starts one process, not {nproc}, and waits for {nproc} times as many as there are."
            context.notes.add("MIG111", text, "spec.nprocPerNode")
        return int(nproc)
    if nproc in ("cpu", "gpu") and launcher is Launcher.TORCHRUN and _insert_flag(main, nproc):
        context.notes.add("MIG109", f"--nproc-per-node={nproc} is in the command now.", "spec.nprocPerNode", fixed=True)
        return None if gpus(main) else cpus(main)
    if names_processes(main) or (gpus(main) and nproc != "cpu"):
        return None
    if nproc != "cpu" and (others := other_accelerators(main)):
        count = sum(others.values())
        text = f"v2 takes {', '.join(others)} for no GPU and would count CPUs; numProcPerNode is {count}, their number."
        context.notes.add("MIG110", text, "spec.nprocPerNode", fixed=True)
        return count
    count = cpus(main)
    if launcher.sets_ranks or launcher in (Launcher.UNKNOWN, Launcher.ABSENT):
        text = (
            f"torchrun of v1 starts a process for every CPU of the machine; {count} is what the CPU request gives:"
            " write their number into trainer.numProcPerNode."
        )
        severity = Severity.ERROR if launcher.sets_ranks else Severity.WARNING
        context.notes.add("MIG109", text, "spec.nprocPerNode", severity=severity)
        return count
    return 1


def _insert_flag(main: Json, value: str) -> bool:
    """Put the flag behind torchrun, where it wins over the variable; False where torchrun is not a word of its own."""
    for field in ("command", "args"):
        words = main.get(field) or []
        for position, word in enumerate(words):
            if word in ("torch.distributed.run", "torch.distributed.launch") or word.rsplit("/", 1)[-1] == "torchrun":
                main[field] = [*words[: position + 1], f"--nproc-per-node={value}", *words[position + 1 :]]
                return True
    return False


def _rendezvous(context: Context, hosts: Mapping[Slot, str]) -> list[Json]:
    """The settings of an elastic job, which torchrun reads from the same variables as in v1."""
    elastic = context.spec(PyTorchJobSpec).elastic_policy
    if elastic is None:
        return []
    moved = [
        each
        for each in environment(context.job.job, slots_of(context, WORKER, MASTER)[0])
        if each["name"].startswith("PET_") and each["name"] not in RESERVED["torch"]
    ]
    context.notes.add(
        "MIG204", "the settings of the rendezvous are variables of the trainer now.", "spec.elasticPolicy", fixed=True
    )
    names = {context.v1_host(slot.replica_type, slot.index): host for slot, host in hosts.items()}
    return [_moved(elastic, dict(variable), names) for variable in moved]


def _moved(elastic: PyTorchElasticPolicy, variable: Json, hosts: dict[str, str]) -> Json:
    if variable["name"] != "PET_RDZV_ENDPOINT":
        return variable if "value" in variable else {**variable, "value": ""}
    host, port = str(variable["value"]).rsplit(":", 1)
    return env("PET_RDZV_ENDPOINT", f"{translated(host, hosts)}:{port if elastic.rdzv_port is not None else PORT}")


def _note_elasticity(context: Context, templates: Mapping[str, Json]) -> None:
    """What is lost of an elastic job: nothing where its command or its bounds fix the number of nodes."""
    elastic, path = context.spec(PyTorchJobSpec).elastic_policy, "spec.elasticPolicy"
    if elastic is None or WORKER not in templates:
        return
    count, nodes = context.count(WORKER), sum(map(context.count, templates))
    main = main_of(templates[WORKER], context.main_container(WORKER))
    size = size_of(elastic, count, main, launcher_of(main.get("command"), main.get("args")))
    scaler = " and the autoscaler" if elastic.metrics else ""
    if not size.elastic and size.nodes in (None, nodes):
        text = f"the job is not elastic in practice, because {size.why}: its bounds{scaler} are left out."
        context.notes.add("MIG203", text, path, severity=Severity.WARNING if scaler else Severity.INFO)
    elif not size.elastic:
        text = f"{size.why}, but the job has {nodes}: one waits for the other; make both the same number."
        context.notes.add("MIG203", text, path)
    else:
        low, high = elastic.min_replicas or 1, elastic.max_replicas
        fewer = f"; write --nnodes={low}:{nodes} behind torchrun to continue after a loss" if low < nodes else ""
        text = (
            f"between {low} and {high} nodes{', set by an autoscaler,' if scaler else ''} became {nodes}: a"
            f" TrainJob keeps its number. Decide on trainer.numNodes{fewer}; to change it, delete the TrainJob and"
            " create it again: it resumes from its checkpoint."
        )
        context.notes.add("MIG203", text, path)
