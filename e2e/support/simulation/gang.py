"""PodGroups in a simulated cluster: their CRDs, as far as anything here depends on them."""

from __future__ import annotations

from e2e.support.simulation.api import Api, Json

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APIS: dict[str, tuple[str, str, Json]] = {
    "PodGroup": ("scheduling.volcano.sh", "v1beta1", {}),
    "CoschedulingPodGroup": ("scheduling.x-k8s.io", "v1alpha1", {"status": {}}),
}
"""Group, version and subresources; Volcano's has no subresource for its status."""


async def install(api: Api, kind: str = "PodGroup") -> None:
    """Let the API server have PodGroups."""
    await api.send("POST", CRDS, crd(kind))


async def uninstall(api: Api, kind: str = "PodGroup") -> None:
    """Delete the CRD, and all PodGroups with it."""
    await api.send("DELETE", f"{CRDS}/{crd(kind)['metadata']['name']}", {})


def crd(kind: str) -> Json:
    """The CustomResourceDefinition of PodGroups; any spec and status will do, if the members are in order."""
    group, version, subresources = APIS[kind]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    members = {"type": "integer", "minimum": 0 if kind == "PodGroup" else 1}
    schema = {
        "type": "object",
        "properties": {"spec": {**anything, "properties": {"minMember": members}}, "status": anything},
    }
    names = {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"}
    served = {"name": version, "served": True, "storage": True, "subresources": subresources}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced",
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def set_phase(api: Api, name: str, phase: str) -> None:
    """What Volcano does: it writes the whole object, status included."""
    group = await api.get("PodGroup", name)
    assert group is not None, f"there is no PodGroup {name}"
    await api.send("PUT", api.path("PodGroup", name), {**group, "status": {"phase": phase}})
