"""How the API describes itself: discovery and OpenAPI, for the resources that both servers have."""

from __future__ import annotations

import json
from typing import Any

from e2e.fidelity.player import Answer, Player

PODS = {"pods", "pods/status", "pods/log", "pods/exec", "pods/binding", "pods/eviction"}
RESOURCES = {
    "v1": PODS
    | {"services", "services/status", "namespaces", "namespaces/finalize", "namespaces/status", "configmaps", "secrets"}
    | {"serviceaccounts", "serviceaccounts/token", "events", "nodes", "nodes/status", "limitranges"}
    | {"persistentvolumeclaims", "persistentvolumeclaims/status", "resourcequotas", "resourcequotas/status"},
    "autoscaling/v2": {"horizontalpodautoscalers", "horizontalpodautoscalers/status"},
    "coordination.k8s.io/v1": {"leases"},
    "events.k8s.io/v1": {"events"},
    "rbac.authorization.k8s.io/v1": {"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
    "scheduling.k8s.io/v1": {"priorityclasses"},
    "apiextensions.k8s.io/v1": {"customresourcedefinitions", "customresourcedefinitions/status"},
    "fidelity.example.com/v1": {"widgets", "widgets/status", "widgets/scale"},
}


async def of_resources(api: Player) -> None:
    for version, names in RESOURCES.items():
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        answer = await api.quietly("GET", root)
        listed = {each["name"]: each for each in answer.body["resources"] if each["name"] in names}
        for each in listed.values():
            if version != "fidelity.example.com/v1":
                each.pop("storageVersionHash", None)
            each["verbs"] = sorted(each["verbs"])
        api.note(version, {**{key: answer.body.get(key) for key in ("kind", "apiVersion", "groupVersion")}, **listed})


async def of_groups(api: Player) -> None:
    answer = await api.quietly("GET", "/apis")
    wanted = {version.partition("/")[0] for version in RESOURCES if "/" in version} - {
        "autoscaling",
        "coordination.k8s.io",
    }
    api.note("kind", [answer.body["kind"], answer.body["apiVersion"]])
    api.note("groups", {each["name"]: each for each in answer.body["groups"] if each["name"] in wanted})
    await api.get("/apis/fidelity.example.com")
    answer = await api.quietly("GET", "/api")
    api.note("core", [answer.body["kind"], answer.body["versions"]])


async def what_is_not_there(api: Player) -> None:
    await api.get("/apis/surprise.example.com/v1")
    await api.get("/apis/fidelity.example.com/v7")


async def versions(api: Player) -> None:
    answer = await api.quietly("GET", "/version")
    api.note("version", [answer.body[key] for key in ("major", "minor", "gitVersion")])


def _document(answer: Answer) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.body) if isinstance(answer.body, str) else answer.body
    return document


async def openapi_of_builtin_types(api: Player) -> None:
    index = _document(await api.quietly("GET", "/openapi/v3"))["paths"]
    api.note("listed", sorted({"api/v1", "apis/fidelity.example.com/v1"} & index.keys()))
    document = _document(await api.quietly("GET", "/openapi/v3/api/v1"))
    schema = document["components"]["schemas"]["io.k8s.api.core.v1.Container"]
    api.note("fields of a container", sorted(schema["properties"]))
    api.note("ports", {key: value for key, value in schema["properties"]["ports"].items() if key.startswith("x-")})
    pod = document["components"]["schemas"]["io.k8s.api.core.v1.Pod"]
    api.note("kind of a pod", pod["x-kubernetes-group-version-kind"])
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    api.note("kind of the operation", patch["x-kubernetes-group-version-kind"])
    names = {"dryRun", "fieldManager", "fieldValidation", "force"}
    api.note("parameters", sorted(each["name"] for each in patch["parameters"] if each["name"] in names))


async def openapi_of_custom_types(api: Player) -> None:
    path = "/openapi/v3/apis/fidelity.example.com/v1"
    await api.until(path, lambda answer: answer.status == 200)
    document = _document(await api.quietly("GET", path))
    schema = document["components"]["schemas"]["com.example.fidelity.v1.Widget"]
    api.note("kind", schema["x-kubernetes-group-version-kind"])
    api.note("spec", schema["properties"]["spec"])
    api.note("metadata", sorted(schema["properties"]))
    patch = document["paths"]["/apis/fidelity.example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    api.note("kind of the operation", patch["x-kubernetes-group-version-kind"])
