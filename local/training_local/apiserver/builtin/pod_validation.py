"""Checks of a pod's spec and of its changes, in the real server's order and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training_local.apiserver import names
from training_local.apiserver.builtin import container_validation as checks
from training_local.apiserver.builtin.container_validation import each
from training_local.apiserver.builtin.volumes import volumes
from training_local.apiserver.errors import Cause, Json, forbidden_value, invalid, not_supported, required

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
INT32_MAX = 2**31 - 1
_EXISTS_NEEDED = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_causes(pod: Json) -> Iterator[Cause]:
    """Check the spec of a pod."""
    spec = pod["spec"]
    sound, causes = volumes(spec.get("volumes", ()), "spec.volumes")
    yield from causes
    yield from checks.containers(spec.get("containers"), sound, "spec.containers")
    yield from checks.init_containers(spec, sound, "spec.initContainers")
    if (policy := spec["restartPolicy"]) not in RESTART_POLICIES:
        yield not_supported("spec.restartPolicy", policy, RESTART_POLICIES)
    if (policy := spec["dnsPolicy"]) not in DNS_POLICIES:
        yield not_supported("spec.dnsPolicy", policy, DNS_POLICIES)
    yield from labels(spec.get("nodeSelector", {}), "spec.nodeSelector")
    if spec["dnsPolicy"] == "None":
        yield from _own_dns(spec)
    yield from _names(spec)
    if (deadline := spec.get("activeDeadlineSeconds")) is not None and not 1 <= deadline <= INT32_MAX:
        yield invalid("spec.activeDeadlineSeconds", deadline, f"must be between 1 and {INT32_MAX}, inclusive")
    yield from _host_names(spec)
    yield from tolerations(spec.get("tolerations", ()), "spec.tolerations")
    yield from _images(spec)


def labels(given: Json, path: str) -> Iterator[Cause]:
    """Check labels or a selector of labels."""
    for key, value in given.items():
        yield from each(path, key, names.qualified_name)
        yield from each(path, value, names.label_value)


def _own_dns(spec: Json) -> Iterator[Cause]:
    if "dnsConfig" not in spec:
        yield required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    elif not spec["dnsConfig"].get("nameservers"):
        said = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required("spec.dnsConfig.nameservers", said)


def _names(spec: Json) -> Iterator[Cause]:
    for field in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if name := spec.get(field):
            yield from each(f"spec.{field}", name, names.subdomain)


def _host_names(spec: Json) -> Iterator[Cause]:
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            yield from each(f"spec.{field}", name, names.label)


def _images(spec: Json) -> Iterator[Cause]:
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            image = container.get("image", "")
            if image != image.strip():
                yield invalid(f"spec.{kind}[{index}].image", image, "must not have leading or trailing whitespace")


def tolerations(listed: Sequence[Json], path: str) -> Iterator[Cause]:
    """Check tolerations."""
    for index, toleration in enumerate(listed):
        here = f"{path}[{index}]"
        key, operator, value = (toleration.get(field, "") for field in ("key", "operator", "value"))
        effect = toleration.get("effect", "")
        if key:
            yield from each(f"{here}.key", key, names.qualified_name)
        elif operator != "Exists":
            yield invalid(f"{here}.operator", operator, _EXISTS_NEEDED)
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            yield invalid(f"{here}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator not in ("", "Equal", "Exists"):
            yield not_supported(f"{here}.operator", operator, ("Equal", "Exists"))
        elif operator == "Exists" and value:
            yield invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'")
        elif operator != "Exists" and (complaints := names.label_value(value)):
            yield invalid(f"{here}.operator", value, ";".join(complaints))
        if effect and effect not in TAINT_EFFECTS:
            yield not_supported(f"{here}.effect", effect, TAINT_EFFECTS)


def update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check what an update changes: images, deadline, added tolerations, opened gates; nothing else may."""
    was, spec = old["spec"], new["spec"]
    for kind in ("containers", "initContainers"):
        if len(was.get(kind) or ()) != len(spec.get(kind) or ()):
            yield forbidden_value(f"spec.{kind}", "pod updates may not add or remove containers")
            return
    if wrong := _deadline(was.get("activeDeadlineSeconds"), spec.get("activeDeadlineSeconds")):
        yield wrong
        if spec.get("activeDeadlineSeconds") is not None:
            return
    if not all(_kept(toleration, spec.get("tolerations", ())) for toleration in was.get("tolerations", ())):
        said = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden_value("spec.tolerations", said)
    if any(gate not in was.get("schedulingGates", ()) for gate in spec.get("schedulingGates", ())):
        yield forbidden_value("spec.schedulingGates", "only deletion is allowed, but found new scheduling gate")
    if changed := _other_changes(was, spec):
        yield forbidden_value("spec", f"pod updates may not change fields other than {_CHANGEABLE}\n{changed}")


def _deadline(was: int | None, now: int | None) -> Cause | None:
    path = "spec.activeDeadlineSeconds"
    if now is None:
        said = "must not update from a positive integer to nil value"
        return invalid(path, None, said) if was is not None else None
    if not 0 <= now <= INT32_MAX:
        return invalid(path, now, f"must be between 0 and {INT32_MAX}, inclusive")
    return invalid(path, now, "must be less than or equal to previous value") if was is not None and was < now else None


def _kept(toleration: Json, listed: Sequence[Json]) -> bool:
    wanted = {**toleration, "tolerationSeconds": None}
    return any({**each_one, "tolerationSeconds": None} == wanted for each_one in listed)


def _other_changes(was: Json, now: Json) -> str:
    """Name the fields that differ although they may not."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates", "containers", "initContainers"}
    if was.get("terminationGracePeriodSeconds", 0) < 0 and now.get("terminationGracePeriodSeconds") == 1:
        free.add("terminationGracePeriodSeconds")
    fields = [f"spec.{name}" for name in sorted((was.keys() | now.keys()) - free) if was.get(name) != now.get(name)]
    for kind in ("containers", "initContainers"):
        for index, (one, other) in enumerate(zip(was.get(kind) or (), now.get(kind) or (), strict=True)):
            fields += [
                f"spec.{kind}[{index}].{name}"
                for name in sorted((one.keys() | other.keys()) - {"image"})
                if one.get(name) != other.get(name)
            ]
    return f"changed: {', '.join(fields)}" if fields else ""


def status_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check a status: the class of service stays, and what has ended for good does not run again."""
    was, status = old.get("status", {}), new.get("status", {})
    if was.get("qosClass", "") != status.get("qosClass", ""):
        yield invalid("status.qosClass", status.get("qosClass", ""), "field is immutable")
    policy = old["spec"]["restartPolicy"]
    later = {container["name"]: container for container in status.get("containerStatuses", ())}
    for index, container in enumerate(was.get("containerStatuses", ())):
        ended, follower = container.get("state", {}).get("terminated"), later.get(container["name"])
        if ended is None or follower is None or "terminated" in follower.get("state", {}):
            continue
        if policy == "Never" or (policy == "OnFailure" and ended["exitCode"] == 0):
            said = "may not be transitioned to non-terminated state"
            yield forbidden_value(f"status.containerStatuses[{index}].state", said)
