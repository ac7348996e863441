"""Namespaces: what they hold from their creation on, who may create in them, and how their content goes with them."""

from __future__ import annotations

import asyncio

from training_local.apiserver.controllers import due_again
from training_local.apiserver.deletion import delete, put_or_remove
from training_local.apiserver.errors import Cause, Json, forbidden, not_found
from training_local.apiserver.namespace_conditions import terminating_conditions
from training_local.apiserver.options import DeleteOptions
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import State
from training_local.apiserver.storage import Change, StoreKey

NAMESPACES: StoreKey = ("", "namespaces")
SYSTEM = ("default", "kube-system", "kube-public", "kube-node-lease")
IMMORTAL = ("default", "kube-system", "kube-public")
_AUTHORITY_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "
    "the internal service IP or kubernetes.default.svc. "
    "No other usage is guaranteed across distributions of Kubernetes clusters."
)
_SLICE = 50
"""Deletions between two turns of the loop."""


def require_open(state: State, type: ResourceType, namespace: str, name: str) -> None:
    """Reject a creation in a namespace that does not exist (404) or is terminating (403)."""
    entry = state.storage.collection(NAMESPACES).get("", namespace)
    if entry is None:
        raise not_found("", "namespaces", namespace)
    if entry.deleting:
        said = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        raise forbidden(type.group, type.plural, name, said, [cause])


def require_mortal(name: str) -> None:
    """Reject the deletion of a namespace that the cluster needs."""
    if name in IMMORTAL:
        raise forbidden("", "namespaces", name, "this namespace may not be deleted")


class NamespaceController:
    """Gives every new namespace its service account and its certificate, and empties those that are deleted."""

    def __init__(self, state: State, authority: str) -> None:
        self._state = state
        self._authority = authority
        self._fresh: dict[str, None] = {}
        self._terminating: dict[str, None] = {}

    def observe(self, key: StoreKey, change: Change) -> bool:
        """Take note of a change; returns whether there is work."""
        if key == NAMESPACES:
            return self._observe_namespace(change)
        # The last object of a terminating namespace may have gone, or one of those kept in every namespace.
        namespace = change.new.namespace
        if change.type == "DELETED" and namespace:
            if namespace in self._terminating:
                return True
            if change.new.name in ("default", "kube-root-ca.crt"):
                self._fresh[namespace] = None
                return True
        return False

    def _observe_namespace(self, change: Change) -> bool:
        name = change.new.name
        if change.type == "DELETED":
            self._terminating.pop(name, None)
            self._fresh.pop(name, None)
        elif change.new.deleting:
            self._terminating[name] = None
        else:
            self._fresh[name] = None
        return True

    async def work(self) -> None:
        """Bring all namespaces noted to where they should be, as far as finalizers and grace of their content allow."""
        for name in tuple(self._fresh):
            del self._fresh[name]
            with due_again(self._fresh, name):
                self._furnish(name)
        for name in tuple(self._terminating):
            await self._empty(name)

    def _furnish(self, namespace: str) -> None:
        entry = self._state.storage.collection(NAMESPACES).get("", namespace)
        if entry is None or entry.deleting:
            return
        self._ensure(
            "serviceaccounts",
            {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}},
            namespace,
        )
        meta = {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": _AUTHORITY_DESCRIPTION}}
        data = {"ca.crt": self._authority}
        self._ensure("configmaps", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": data}, namespace)

    def _ensure(self, plural: str, obj: Json, namespace: str) -> None:
        """Create an object that is missing; give one that is there its content, as after a restart with a new CA."""
        meta: Json = obj["metadata"]
        found = self._state.lookup("", plural, namespace, meta["name"])
        if found is None:
            meta["namespace"], meta["uid"] = namespace, self._state.new_uid()
            meta["creationTimestamp"] = self._state.timestamp()
            self._state.storage.put(("", plural), obj)
        elif found.get("data") != obj.get("data"):
            self._state.storage.put(("", plural), {**found, "data": obj["data"]})

    async def _empty(self, namespace: str) -> None:
        done = 0
        for key, collection in tuple(self._state.storage.collections.items()):
            if (type := self._state.catalog.of_store(key)) is None:
                continue
            for entry in collection.entries(namespace) if type.namespaced else ():
                current = collection.get(namespace, entry.name)
                if current is not None and not current.deleting:
                    delete(self._state, type, current, DeleteOptions(propagation="Background"))
                    done += 1
                    if done % _SLICE == 0:
                        await asyncio.sleep(0)
        self._finish(namespace)

    def _finish(self, namespace: str) -> None:
        """Report what is left in a namespace; once nothing is, release it."""
        storage = self._state.storage
        entry, type = storage.collection(NAMESPACES).get("", namespace), self._state.catalog.of_store(NAMESPACES)
        if entry is None or type is None:
            return
        left = {
            key: tuple(each.spaces[namespace].values())
            for key, each in storage.collections.items()
            if namespace in each.spaces
        }
        before, obj = entry.object(), entry.object()
        status = obj.setdefault("status", {})
        status["conditions"] = terminating_conditions(left, status.get("conditions", []), self._state.timestamp())
        if not left:
            obj["spec"].pop("finalizers", None)
        if obj != before:
            put_or_remove(self._state, type, entry, obj)


def finalize(state: State, type: ResourceType, name: str, wanted: Json) -> Json:
    """Set the finalizers in a namespace's spec; without any, a deleted namespace goes."""
    entry = state.require(type, "", name)
    obj = entry.object()
    if finalizers := (wanted.get("spec") or {}).get("finalizers"):
        obj["spec"]["finalizers"] = finalizers
    else:
        obj["spec"].pop("finalizers", None)
    put_or_remove(state, type, entry, obj)
    return obj


def new_namespace(state: State, name: str) -> Json:
    """Return a namespace object as the server stores it."""
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": state.new_uid(),
            "creationTimestamp": state.timestamp(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
