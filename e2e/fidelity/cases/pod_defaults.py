"""What the server fills into pods."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player
from e2e.support.objects import pod


def _with(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    made = pod("a", **spec)
    made["spec"]["containers"][0].update(container or {})
    return made


async def of_the_smallest_pod(api: Player) -> None:
    await api.post("pods", pod("a"))


async def of_pull_policies(api: Player) -> None:
    digest = "sha256:" + "0" * 64
    images = (
        "busybox",
        "busybox:latest",
        "busybox:1.36",
        f"busybox@{digest}",
        f"busybox:latest@{digest}",
        "host:5000/busybox",
        "host:5000/path/busybox:2",
        "localhost/busybox",
        "Upper/busybox",
    )
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    await api.post("pods", pod("a", containers=containers))


async def of_ports(api: Player) -> None:
    await api.post(
        "pods", _with({"ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}]})
    )


async def of_host_network(api: Player) -> None:
    await api.post("pods", _with({"ports": [{"containerPort": 8080}]}, hostNetwork=True))


async def of_resources(api: Player) -> None:
    limits = {"cpu": "0.5", "memory": "1024Mi", "example.com/gpu": 2}
    await api.post("pods", _with({"resources": {"limits": limits, "requests": {"cpu": "100m"}}}))


async def of_quantities(api: Player) -> None:
    amounts = [
        "1000m",
        "1.5",
        "0.1",
        "1e3",
        "2k",
        "100n",
        "1500Mi",
        "1.5Gi",
        "1024Ki",
        "0",
        "+5",
        "1E",
        "12345678",
        "0.5Mi",
    ]
    resources = {f"example.com/r{number}": amount for number, amount in enumerate(("3", "1k", "2e3", "1Ki", "1Mi"))}
    containers = [
        {"name": f"c{number}", "image": "i:1", "resources": {"limits": {"memory": amount}}}
        for number, amount in enumerate(amounts)
    ]
    containers.append({"name": "extended", "image": "i:1", "resources": {"limits": resources}})
    await api.post("pods", pod("a", containers=containers))


async def of_probes(api: Player) -> None:
    probes = {
        "livenessProbe": {"httpGet": {"port": 80}},
        "readinessProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 3},
        "startupProbe": {"grpc": {"port": 9000}},
        "lifecycle": {"preStop": {"httpGet": {"port": 1}}, "postStart": {"exec": {"command": ["true"]}}},
    }
    await api.post("pods", _with({**probes, "ports": [{"containerPort": 80, "name": "web"}]}))


async def of_variables(api: Player) -> None:
    env = [
        {"name": "A", "value": ""},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": False}}},
        {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}},
    ]
    await api.post("pods", _with({"env": env, "envFrom": [{"configMapRef": {"name": "c"}}]}))


async def of_volumes(api: Player) -> None:
    volumes = [
        {"name": "nothing"},
        {"name": "empty", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Ki"}},
        {"name": "config", "configMap": {"name": "c", "items": [{"key": "a", "path": "b", "mode": 256}]}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "host", "hostPath": {"path": "/tmp"}},
        {"name": "down", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {
            "name": "all",
            "projected": {"sources": [{"configMap": {"name": "c"}}, {"serviceAccountToken": {"path": "t"}}]},
        },
        {"name": "claim", "persistentVolumeClaim": {"claimName": "p"}},
    ]
    await api.post("pods", _with(volumes=volumes, serviceAccountName="default"))


async def of_tolerations(api: Player) -> None:
    await api.post("pods", pod("a", tolerations=[{"operator": "Exists"}]))
    await api.post("pods", pod("b", tolerations=[{"key": "gpu", "operator": "Exists"}]))
    key = "node.kubernetes.io/not-ready"
    await api.post("pods", pod("c", tolerations=[{"key": key, "effect": "NoExecute", "tolerationSeconds": 5}]))


async def of_quality_of_service(api: Player) -> None:
    same = {"cpu": "1", "memory": "1Gi"}
    for name, resources in {
        "guaranteed": {"limits": same},
        "equal": {"limits": same, "requests": {"cpu": "1000m", "memory": "1024Mi"}},
        "less": {"limits": same, "requests": {"cpu": "500m"}},
        "one": {"limits": {"cpu": "1"}},
        "other": {"limits": {"example.com/gpu": "1"}},
    }.items():
        made = _with({"resources": resources})
        made["metadata"]["name"] = name
        answer = await api.quietly("POST", "pods", made)
        api.note(name, answer.body["status"])


async def of_init_containers(api: Player) -> None:
    initial = [
        {"name": "first", "image": "i:1", "resources": {"limits": {"cpu": "1"}}},
        {"name": "sidecar", "image": "i", "restartPolicy": "Always"},
    ]
    await api.post("pods", pod("a", initContainers=initial))


async def of_zero_values(api: Player) -> None:
    spec = {
        "hostNetwork": False,
        "hostPID": False,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "shareProcessNamespace": False,
        "enableServiceLinks": False,
        "nodeSelector": {},
        "volumes": [],
        "hostname": "",
        "affinity": None,
        "activeDeadlineSeconds": None,
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False, "fsGroup": None},
    }
    container: dict[str, Any] = {"command": [], "args": None, "stdin": False, "tty": True, "env": [], "workingDir": ""}
    await api.post("pods", _with(container, **spec))


async def of_an_old_service_account_field(api: Player) -> None:
    await api.post("pods", pod("a", serviceAccount="default"))


async def of_priority(api: Player) -> None:
    await api.post("pods", pod("a", priorityClassName="system-cluster-critical"))
    await api.post("pods", pod("b", priorityClassName="surprise"))
    await api.post("pods", pod("c", priority=7))


async def of_scheduling_gates(api: Player) -> None:
    await api.post("pods", pod("a", schedulingGates=[{"name": "example.com/wait"}]))


async def status_of_the_client_is_dropped(api: Player) -> None:
    await api.post("pods", {**pod("a"), "status": {"phase": "Running", "podIP": "1.2.3.4"}})


async def addresses_in_status(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a/status", {"status": {"phase": "Running", "podIP": "10.1.2.3", "hostIP": "10.0.0.1"}})
    await api.patch("pods/a/status", {"status": {"podIP": "10.1.2.4", "podIPs": [{"ip": "10.1.2.4"}]}})


async def conditions_in_status(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    state = {"terminated": {"exitCode": 1}}
    container = {"name": "main", "image": "busybox:1", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    condition = {"type": "Ready", "status": "False"}
    status = {"phase": "Failed", "containerStatuses": [container], "conditions": [condition], "startTime": None}
    await api.patch("pods/a/status", {"status": status})


async def status_does_not_change_the_spec(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a/status", {"spec": {"nodeName": "x"}, "status": {"message": "m"}})


async def an_update_does_not_change_the_status(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a", {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}})


async def nulls_are_zero_values(api: Player) -> None:
    await api.post("pods", pod("a", containers=[None]))
    limits = {"cpu": None, "memory": "1Gi"}
    main = {"name": "main", "image": "busybox:1", "args": [None], "env": [None], "resources": {"limits": limits}}
    await api.post("pods", pod("b", containers=[main]))
    await api.post("configmaps", {"metadata": {"name": "c"}, "data": {"a": None}})
