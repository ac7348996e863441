"""Pod templates for v2: the main container under its new name, every reference to it followed, ports with names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from training_migration.convert.context import SSH_PORT, Context, Json, pod_template
from training_migration.findings import Severity
from training_migration.v2.names import DEFAULT_CONTAINER, NODE, PORT

PER_CONTAINER: Final = (
    "container.apparmor.security.beta.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
)
"""Prefixes of annotations whose keys end in the name of a container."""
WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def for_node(context: Context, replica_type: str, template: Json) -> Json:
    """The checked template of a replica type for pods whose main container a policy of v2 looks after."""
    main = context.main_container(replica_type)
    path = context.path(replica_type, "template.spec.containers")
    if main != NODE and any(container.get("name") == NODE for container in _all_containers(template)):
        context.notes.reject(
            "MIG219",
            f"a container other than {main!r} is called {NODE!r}, which in v2 is the name of the one that trains;"
            " give it another name.",
            path,
        )
        return template
    template = renamed(template, main, NODE)
    if context.features.ports_clash:
        why = "v2 puts its own port in place of one without a name"
        _name_ports(context, main_of(template), f"{path}[{main}].ports", "MIG216", why)
    return template


def checked_template(context: Context, replica_type: str) -> Json:
    """The template of a replica type, without what Jobs set themselves and with a note on what means nothing in v2."""
    template = pod_template(context.replica(replica_type))
    pod = template["spec"]
    path = context.path(replica_type, "template.spec")
    for name in ("hostname", "subdomain"):
        if name in pod:
            context.notes.add(
                "MIG218", f"{name} {pod[name]!r} is dropped: v2 gives every pod its own.", f"{path}.{name}"
            )
            del pod[name]
    if pod.get("setHostnameAsFQDN"):
        context.notes.add(
            "MIG218",
            "setHostnameAsFQDN makes the host name of a pod longer than v2 expects.",
            f"{path}.setHostnameAsFQDN",
        )
    kind = context.job.job.info.kind
    port = PORT if has_fixed_port(context) else SSH_PORT if kind == "MPIJob" else None
    if pod.get("hostNetwork") and port is not None:
        context.notes.add(
            "MIG215",
            f"with the network of the machine two such pods cannot run on one, because the port is always {port}.",
            f"{path}.hostNetwork",
        )
    for container in [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]:
        if env := container.get("env"):
            container["env"] = last_of_each(env)
    if has_fixed_port(context):
        _drop_port(main_of(template, context.main_container(replica_type)), context.job.job.info.port_name)
    for group in ("initContainers", "containers") if context.features.ports_clash else ():
        for container in pod.get(group) or ():
            _keep_ports_apart(context, container, f"{path}.{group}[{container.get('name')}].ports")
    return template


def has_fixed_port(context: Context) -> bool:
    """Whether the policy of v2 for this kind has a port of its own."""
    return context.job.job.info.kind in ("PyTorchJob", "JAXJob", "XGBoostJob")


def last_of_each(env: Sequence[Json]) -> list[Json]:
    """The variables that count: of several with one name the last, as a container sees them."""
    last = {variable.get("name"): position for position, variable in enumerate(env)}
    return [variable for position, variable in enumerate(env) if last[variable.get("name")] == position]


def renamed(template: Json, old: str, new: str) -> Json:
    """The template with a container under another name, also where others refer to it."""
    if old == new:
        return template
    metadata = dict(template.get("metadata") or {})
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = dict(_renamed_annotations(annotations, old, new))
    pod = _references(template["spec"], old, new)
    pod["containers"] = [
        {**container, "name": new} if container.get("name") == old else container
        for container in pod.get("containers") or ()
    ]
    return {**({"metadata": metadata} if metadata else {}), "spec": pod}


def _renamed_annotations(annotations: Mapping[str, str], old: str, new: str) -> Iterator[tuple[str, str]]:
    for key, value in annotations.items():
        if key == DEFAULT_CONTAINER and value == old:
            yield key, new
        elif any(key == prefix + old for prefix in PER_CONTAINER):
            yield key.removesuffix(old) + new, value
        else:
            yield key, value


def _references(value: Any, old: str, new: str) -> Any:
    """A copy of the value in which every field `containerName` that says `old` says `new`."""
    match value:
        case dict():
            return {
                key: new if key == "containerName" and each == old else _references(each, old, new)
                for key, each in value.items()
            }
        case list():
            return [_references(each, old, new) for each in value]
    return value


def _drop_port(container: Json, name: str) -> None:
    """Take away the port of this name, which v1 adds and v2 replaces by its own, unless the machine has it too."""
    ports = [port for port in container.get("ports") or () if port.get("name") != name or "hostPort" in port]
    if ports:
        container["ports"] = ports
    else:
        container.pop("ports", None)


def _keep_ports_apart(context: Context, container: Json, path: str) -> None:
    """Give ports names if v2 would write them over each other, and note those where a name does not help."""
    ports = container.get("ports") or []
    if sum(not port.get("name") for port in ports) > 1:
        why = "v2 writes ports without names over each other"
        _name_ports(context, container, path, "MIG223", why)
    numbers = [port.get("containerPort") for port in container.get("ports") or ()]
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
        message = f"port {number} has two protocols: v2 overwrites one of them, and no pod is created."
        context.notes.add("MIG223", message, path)


def _name_ports(context: Context, container: Json, path: str, rule: str, why: str) -> None:
    """Give each port a name."""
    ports = container.get("ports") or []
    taken = {port.get("name") for port in ports}
    for position, port in enumerate(ports):
        if port.get("name"):
            continue
        protocol = str(port.get("protocol", "TCP")).lower()
        name = f"port-{port.get('containerPort')}"
        port["name"] = f"{name}-{protocol}"[:15] if name in taken else name
        taken.add(port["name"])
        context.notes.add(
            rule,
            f"port {port.get('containerPort')} has no name and is called {port['name']!r} now: {why}.",
            f"{path}[{position}]",
            fixed=True,
        )
    ports[:] = [port for position, port in enumerate(ports) if _key(port) not in map(_key, ports[:position])]


def _key(port: Json) -> tuple[Any, Any]:
    return port.get("containerPort"), port.get("protocol", "TCP")


def main_of(template: Json, name: str = NODE) -> Json:
    """The container that trains."""
    container: Json = next(each for each in template["spec"]["containers"] if each.get("name") == name)
    return container


def sidecars_of(template: Json, name: str = NODE) -> list[Json]:
    """The other regular containers."""
    return [each for each in template["spec"]["containers"] if each.get("name") != name]


def with_sidecars(context: Context, replica_type: str, template: Json, main: str) -> Json:
    """The template with ordinary sidecars as init containers that run on, where that is asked for.

    Where the container that trains is neither the first one nor called `node`, the template says which it is.
    """
    sidecars = sidecars_of(template, main)
    if not sidecars:
        return template
    names = ", ".join(str(each.get("name")) for each in sidecars)
    path = context.path(replica_type, "template.spec.containers")
    if not context.options.native_sidecars:
        context.notes.add(
            "MIG221",
            f"the pod ends only when {names} ends too, as in v1; --sidecars native lets it end with the training.",
            path,
            severity=Severity.INFO,
        )
        return _pointing_at(template, main)
    context.notes.add("MIG221", f"{names} became native sidecars: they end with the training.", path, fixed=True)
    pod = dict(template["spec"])
    natives = [{**each, "restartPolicy": "Always"} for each in sidecars]
    pod["initContainers"] = [*(pod.get("initContainers") or ()), *natives]
    pod["containers"] = [main_of(template, main)]
    return {**template, "spec": pod}


def _pointing_at(template: Json, main: str) -> Json:
    if main == NODE or template["spec"]["containers"][0].get("name") == main:
        return template
    metadata = template.get("metadata") or {}
    annotations = {DEFAULT_CONTAINER: main, **(metadata.get("annotations") or {})}
    return {**template, "metadata": {**metadata, "annotations": annotations}}


def _all_containers(template: Json) -> Iterator[Json]:
    yield from template["spec"].get("containers") or ()
    yield from template["spec"].get("initContainers") or ()


def without_env(container: Json, names: Collection[str]) -> set[str]:
    """Take variables away from a container; returns the names of those that were there."""
    env = container.get("env") or []
    gone = {str(variable.get("name")) for variable in env if variable.get("name") in names}
    kept = [variable for variable in env if variable.get("name") not in gone]
    if kept:
        container["env"] = kept
    else:
        container.pop("env", None)
    return gone


def _texts(value: Any) -> str:
    """All texts in a value, keys included."""
    match value:
        case dict():
            return "\n".join(f"{key}\n{_texts(each)}" for key, each in value.items())
        case list():
            return "\n".join(map(_texts, value))
    return str(value)


def mentioned(container: Json, names: Collection[str]) -> list[str]:
    """Those of the variables that a container's command, arguments or own variables name, in their order."""
    words = set(WORD.findall(_texts([container.get("command"), container.get("args"), container.get("env")])))
    return [name for name in names if name in words]
