"""The variables that v1 gives its containers, with the names and numbers of v2: for scripts that stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from training_api.kinds import Job
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import env, env_from_field
from training_migration.choices import CompatEnv
from training_migration.convert.containers import mentioned, sidecars_of, without_env
from training_migration.convert.context import Context, Json
from training_migration.v2.names import INDEX_FIELD, NODE, PORT

UNBUFFERED: Final = "PYTHONUNBUFFERED"
Environment = Callable[[Job, Slot], Sequence[Mapping[str, Any]]]
"""The operator's own function for a kind: the variables of the pod in a slot."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


def slots_of(context: Context, *replica_types: str) -> list[Slot]:
    """The replicas of these types in the order of their ranks."""
    return [Slot(name, index) for name in replica_types for index in range(context.count(name))]


def v1_variables(
    context: Context,
    environment: Environment,
    hosts: Mapping[Slot, str],
    *,
    ports: Sequence[str] = (),
    index: str = INDEX_FIELD,
) -> list[Json]:
    """What v1 sets in the pods of these slots, for pods of one template.

    `hosts` gives each slot its host name in v2, in the order of indexes. Variables in `ports` get v2's port; those that
    are ranks come from the field `index`; others are literal, from the first slot.
    """
    slots = list(hosts)
    names = {context.v1_host(slot.replica_type, slot.index): host for slot, host in hosts.items()}
    first = {str(each["name"]): each for each in environment(context.job.job, slots[0])}
    variables = []
    for name, variable in first.items():
        if name in ports:
            variables.append(env(name, PORT))
        elif name in RANKS:
            variables.append(env_from_field(name, index))
        elif "value" in variable:
            variables.append({"name": name, "value": translated(str(variable["value"]), names)})
        else:
            variables.append(dict(variable))
    return variables


def variables_of(context: Context, environment: Environment, slot: Slot, hosts: Mapping[str, str]) -> list[Json]:
    """What v1 sets in the pod of one slot, with host names of v1 replaced by those of v2."""
    return [
        {**variable, **({"value": translated(str(variable["value"]), hosts)} if "value" in variable else {})}
        for variable in environment(context.job.job, slot)
    ]


RANKS: Final = frozenset({"RANK", "PET_NODE_RANK", "PROCESS_ID"})
"""Variables that are the index of the pod, also where there is one pod only."""


def translated(text: str, hosts: Mapping[str, str]) -> str:
    """The text with host names of v1 replaced by those of v2."""
    return _NAME.sub(lambda match: hosts.get(match[0], match[0]), text)


def drop_overridden(
    context: Context, template: Json, variables: Sequence[Json], path: str, *, only: str | None = None
) -> None:
    """Take away what v1 overrides (in one container only): there the operator's variables win, in v2 the template's."""
    names = [str(variable["name"]) for variable in variables]
    for container in template["spec"]["containers"]:
        if only is not None and container.get("name") != only:
            continue
        for name in sorted(without_env(container, names)):
            context.notes.add(
                "MIG105",
                f"variable {name} of the template is dropped: v1 replaced it by its own, v2 would not.",
                f"{path}[{container.get('name')}].env",
                fixed=True,
            )


def give_sidecars(context: Context, template: Json, variables: Sequence[Json], path: str, main: str = NODE) -> None:
    """Give v1's variables to the other containers, which had them in v1, as far as they seem to read them."""
    for container in sidecars_of(template, main):
        where = f"{path}[{container.get('name')}]"
        names = [str(variable["name"]) for variable in variables if variable["name"] != UNBUFFERED]
        read = mentioned(container, names)
        if context.options.compat_env is CompatEnv.NEVER or not (
            read or context.options.compat_env is CompatEnv.ALWAYS
        ):
            context.notes.add(
                "MIG220",
                f"container {container.get('name')} had {', '.join(names)} in v1 and has none of them in v2;"
                " --compat-env always writes them out.",
                where,
            )
            continue
        given = {variable.get("name") for variable in container.get("env") or ()}
        added = [variable for variable in variables if variable["name"] not in given]
        container["env"] = [*added, *(container.get("env") or ())]
        context.notes.add(
            "MIG220", f"container {container.get('name')} keeps the variables that it had in v1.", where, fixed=True
        )


def unbuffered(context: Context, variables: Sequence[Json]) -> list[Json]:
    """The variable that makes Python print at once, unless v1's variables are not wanted."""
    if context.options.compat_env is CompatEnv.NEVER:
        context.notes.add("MIG116", f"{UNBUFFERED} is not set any more: what is printed may appear late.")
        return []
    context.notes.add("MIG116", f"{UNBUFFERED} is set as in v1.", fixed=True)
    return [variable for variable in variables if variable["name"] == UNBUFFERED]


def wanted(context: Context, variables: Sequence[Json], replica_type: str) -> list[Json]:
    """v1's variables for a program that reads them, unless they are not wanted."""
    chosen = [variable for variable in variables if variable["name"] != UNBUFFERED]
    names = ", ".join(str(variable["name"]) for variable in chosen)
    path = context.path(replica_type, "template.spec.containers")
    if context.options.compat_env is CompatEnv.NEVER:
        context.notes.add("MIG117", f"{names} are not set any more.", path)
        return []
    context.notes.add("MIG117", f"{names} are variables of the trainer now.", path, fixed=True)
    return chosen
