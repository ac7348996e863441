"""What must hold whatever tenants do; each function yields a sentence per violation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from e2e.adversary.tenants import Account, Key, Object, Rights, content, controller, of_a_job

SEES_PODS = ("", "pods", "", "get,list,watch")
ENTERS = ("", "pods/exec")
"""Group and resource of the one rule beside that a launcher gets."""
Before = Mapping[Key, Object]


def changed(before: Before, now: Before, touched: Collection[Key], where: str) -> Iterator[str]:
    """Objects of others that are not what they were, without that a tenant has written them himself."""
    for key, old in before.items():
        if key in touched:
            continue
        new = now.get(key)
        if new is None or new["metadata"]["uid"] != old["metadata"]["uid"]:
            yield f"{'/'.join(key)} in {where} is gone"
        elif content(new) != content(old):
            yield f"{'/'.join(key)} in {where} is changed: {differing(content(old), content(new))}"


def differing(old: Any, new: Any, path: str = "") -> str:
    """Where two values differ, and how."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(old.keys() | new.keys())
        return "; ".join(text for key in keys if (text := differing(old.get(key), new.get(key), f"{path}.{key}")))
    return "" if old == new else f"{path} was {str(old)[:200]}, is {str(new)[:200]}"


def granted(now: Before, where: str) -> Iterator[str]:
    """Roles of jobs that let enter pods of others, and bindings of jobs to roles that are not theirs."""
    pods = {name: controller(obj).get("uid") for (resource, name), obj in now.items() if resource == "pods"}
    for (resource, name), obj in now.items():
        job = controller(obj).get("uid")
        if not of_a_job(obj):
            continue
        if resource == "roles":
            for rule in obj["rules"]:
                others = [each for each in rule.get("resourceNames", ()) if pods.get(each, job) != job]
                if others:
                    yield f"role {name} in {where} lets enter pods of others: {others}"
        elif resource == "rolebindings":
            role = now.get(("roles", obj["roleRef"]["name"]))
            if obj["roleRef"]["kind"] != "Role" or (role is not None and controller(role).get("uid") != job):
                yield f"role binding {name} in {where} is to a role that is not its job's"


def mounted(now: Before, kept: Before, touched: Collection[Key], where: str) -> Iterator[str]:
    """Pods of jobs that run another owner's config map."""
    for (resource, name), pod in now.items():
        if resource != "pods" or not of_a_job(pod) or (resource, name) in touched:
            continue
        for volume in pod["spec"].get("volumes", ()):
            config = ("configmaps", volume.get("configMap", {}).get("name", ""))
            if config in kept and config not in touched:
                yield f"pod {name} in {where} runs what is in another owner's config map {config[1]}"


def widened(
    before: Mapping[tuple[Account, str], Rights], now: Mapping[tuple[Account, str], Rights], tenants: Collection[str]
) -> Iterator[str]:
    """Accounts with other rights than before; a tenant's namespace has launchers, which may see and enter pods."""
    nothing: Rights = next(iter(before.values()), frozenset())
    for (account, namespace), rights in now.items():
        old = before.get((account, namespace))
        own = account.namespace == namespace and namespace in tenants
        base = old if old is not None else frozenset.intersection(*before.values()) if before else nothing
        gained = {
            rule for rule in rights - base if not own or (rule != SEES_PODS and not (rule[:2] == ENTERS and rule[2]))
        }
        if gained:
            yield f"{account} has gained in {namespace}: {sorted(gained)}"
        if old is not None and old - rights:
            yield f"{account} has lost in {namespace}: {sorted(old - rights)}"
