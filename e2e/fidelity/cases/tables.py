"""Objects as tables, as `kubectl get` asks for them."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.kinds import GROUP, define, resource
from e2e.fidelity.player import Player
from e2e.support.objects import config_map, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def _table(api: Player, path: str, **query: str) -> None:
    """Note columns and cells; ages differ from run to run."""
    table = (await api.quietly("GET", path, accept=TABLE, **query)).body
    columns = [
        {key: column[key] for key in ("name", "type", "format", "priority")} for column in table["columnDefinitions"]
    ]
    ages = [index for index, column in enumerate(columns) if column["name"] in ("Age", "Last Seen", "First Seen")]
    rows = [
        ["<age>" if index in ages else cell for index, cell in enumerate(row["cells"])] for row in table["rows"] or ()
    ]
    api.note(f"columns of {path}", columns)
    api.note(f"rows of {path}", sorted(rows, key=str))
    api.note("conditions", [row.get("conditions") for row in table["rows"] or ()])


def _container(name: str = "main", ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", "imageID": "", "ready": ready, "restartCount": restarts, "state": state}


async def of_pods(api: Player) -> None:
    ended = {"exitCode": 1, "reason": "Error"}
    statuses: dict[str, dict[str, Any]] = {
        "pending": {},
        "running": {"phase": "Running", "podIP": "1.2.3.4", "containerStatuses": [_container(ready=True, running={})]},
        "failed": {"phase": "Failed", "containerStatuses": [_container(terminated=ended)]},
        "succeeded": {
            "phase": "Succeeded",
            "containerStatuses": [_container(terminated={"exitCode": 0, "reason": "Completed"})],
        },
        "killed": {"phase": "Failed", "containerStatuses": [_container(terminated={"exitCode": 137})]},
        "signalled": {"phase": "Failed", "containerStatuses": [_container(terminated={"exitCode": 137, "signal": 9})]},
        "waiting": {"containerStatuses": [_container(restarts=3, waiting={"reason": "CrashLoopBackOff"})]},
        "evicted": {"phase": "Failed", "reason": "Evicted"},
    }
    for name, status in statuses.items():
        await api.quietly("POST", "pods", pod(name))
        await api.quietly("PATCH", f"pods/{name}/status", {"status": status}, "application/merge-patch+json")
    await _table(api, "pods")


async def of_pods_with_init_containers(api: Player) -> None:
    initial = [{"name": "first", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}]
    statuses: dict[str, list[dict[str, Any]]] = {
        "none": [],
        "running": [_container("first", running={})],
        "failed": [_container("first", terminated={"exitCode": 2})],
        "waiting": [_container("first", waiting={"reason": "ImagePullBackOff"})],
        "second": [_container("first", terminated={"exitCode": 0}), _container("side", running={})],
    }
    for name, listed in statuses.items():
        await api.quietly("POST", "pods", pod(name, initContainers=initial))
        status = {"status": {"initContainerStatuses": listed}}
        await api.quietly("PATCH", f"pods/{name}/status", status, "application/merge-patch+json")
    await _table(api, "pods")


async def of_pods_with_gates(api: Player) -> None:
    await api.quietly("POST", "pods", pod("gated", schedulingGates=[{"name": "example.com/a"}]))
    gates = [{"conditionType": "example.com/ready"}, {"conditionType": "example.com/other"}]
    await api.quietly("POST", "pods", pod("ready", readinessGates=gates))
    status = {"status": {"conditions": [{"type": "example.com/ready", "status": "True"}]}}
    await api.quietly("PATCH", "pods/ready/status", status, "application/merge-patch+json")
    await _table(api, "pods")


async def of_services(api: Player) -> None:
    port = {"port": 80, "name": "a"}
    for name, spec in {
        "headless": {"clusterIP": "None", "ports": [port, {"port": 81, "name": "b", "protocol": "UDP"}]},
        "portless": {"clusterIP": "None", "selector": {"b": "2", "a": "1"}},
        "elsewhere": {"type": "ExternalName", "externalName": "example.com"},
        "outside": {"clusterIP": "None", "externalIPs": ["192.0.2.1"], "ports": [port]},
    }.items():
        await api.quietly(
            "POST", "services", {"metadata": {"name": name}, "kind": "Service", "apiVersion": "v1", "spec": spec}
        )
    await _table(api, "services")


async def of_configuration(api: Player) -> None:
    await api.quietly("POST", "configmaps", config_map("c", {"a": "1", "b": "2"}))
    secret = {"metadata": {"name": "s"}, "kind": "Secret", "apiVersion": "v1", "stringData": {"a": "b"}}
    await api.quietly("POST", "secrets", secret)
    await _table(api, "configmaps", fieldSelector="metadata.name=c")
    await _table(api, "secrets", fieldSelector="metadata.name=s")
    await _table(api, "serviceaccounts")
    await _table(api, f"/api/v1/namespaces/{api.namespace}")


async def of_events(api: Player) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": api.namespace, "fieldPath": "spec"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": about,
        "reason": "R",
        "message": " said ",
        "type": "Normal",
        "source": {"component": "me", "host": "here"},
        "count": 3,
    }
    await api.quietly("POST", "events", event)
    await _table(api, "events")


async def of_leases_and_roles(api: Player) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"},
    }
    await api.quietly("POST", leases, lease)
    await _table(api, leases)
    rbac = "rbac.authorization.k8s.io"
    bindings = f"/apis/{rbac}/v1/namespaces/{api.namespace}/rolebindings"
    subjects = [
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
        {"kind": "User", "name": "u", "apiGroup": rbac},
        {"kind": "Group", "name": "g", "apiGroup": rbac},
    ]
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "r"},
        "subjects": subjects,
    }
    await api.quietly("POST", bindings, binding)
    await _table(api, bindings)


async def of_autoscalers(api: Player) -> None:
    collection = f"/apis/autoscaling/v2/namespaces/{api.namespace}/horizontalpodautoscalers"
    target = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t"}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }
    await api.quietly("POST", collection, body)
    await _table(api, collection)


async def of_custom_resources(api: Player) -> None:
    columns = [
        {"name": "Text", "type": "string", "jsonPath": ".spec.text"},
        {"name": "Number", "type": "integer", "jsonPath": ".spec.number"},
        {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"},
        {"name": "Object", "type": "string", "jsonPath": ".spec.object"},
        {"name": "Last", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "First", "type": "string", "jsonPath": ".spec.list[0]", "priority": 1},
        {"name": "Label", "type": "string", "jsonPath": ".metadata.labels.example\\.com/a"},
        {"name": "Broken", "type": "date", "jsonPath": ".spec.text"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    collection = await define(api, "Shown", spec, additionalPrinterColumns=columns)
    conditions = [{"type": "Created", "status": "False"}, {"type": "Ready", "status": "True"}]
    full = resource("Shown", text="t", number=3, flag=True, object={"a": [1]}, list=["x", "y"])
    full["status"] = {"conditions": conditions}
    full["metadata"]["labels"] = {"example.com/a": "v"}
    await api.quietly("POST", collection, full)
    await api.quietly("POST", collection, resource("Shown", "b", text=5, number="x", flag="no"))
    await _table(api, collection)


async def of_custom_resources_without_columns(api: Player) -> None:
    collection = await define(api, "Bare", {"type": "object"})
    await api.quietly("POST", collection, resource("Bare"))
    await _table(api, collection)
    await _table(api, f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bares.{GROUP}")


async def rows_come_with_objects_as_asked(api: Player) -> None:
    await api.quietly("POST", "configmaps", config_map("c"))
    for include in ("None", "Metadata", "Object"):
        answer = await api.quietly("GET", "configmaps/c", accept=TABLE, includeObject=include)
        found = answer.body["rows"][0].get("object") or {}
        api.note(include, [found.get("kind"), sorted(found)])
