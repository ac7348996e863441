"""Situations of a pod and a node, and what the real scheduler said of them (`python -m e2e.fidelity.scheduling`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Object = dict[str, Any]

RECORDING = Path(__file__).with_name("scheduling.json")
NODE = "local"
POLITE = {"metadata": {"name": "polite"}, "value": 7, "preemptionPolicy": "Never"}
CAPACITY = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "4", "nvidia.com/gpu": "2"}


def pod(*containers: Object, name: str = "incoming", **spec: Any) -> Object:
    """A pod; containers get names and an image."""
    named = [{"name": f"c{index}", "image": "none", **container} for index, container in enumerate(containers or ({},))]
    return {"metadata": {"name": name}, "spec": {"containers": named, **spec}}


def wants(**amounts: str) -> Object:
    """A container with these requests; `gpu` is a limit."""
    gpus = {"nvidia.com/gpu": amounts.pop("gpu")} if "gpu" in amounts else {}
    return {"resources": {"requests": {k.replace("_", "-"): v for k, v in amounts.items()}, "limits": gpus}}


def situation(
    incoming: Object, *present: Object, node: Object | None = None, capacity: Mapping[str, str] = CAPACITY
) -> Object:
    """A node, what runs on it, and a pod that arrives."""
    return {"incoming": incoming, "present": present, "node": node or {}, "capacity": {**CAPACITY, **capacity}}


def _affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def _expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def _port(number: int, **more: Any) -> Object:
    return {"ports": [{"containerPort": number, "hostPort": number, **more}]}


_TAINTED: Object = {"spec": {"taints": [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]}}
_CORDONED: Object = {"spec": {"unschedulable": True}}
_LABELLED: Object = {"metadata": {"labels": {"gpu": "a100", "cores": "16"}}}
_CLAIM: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}]}
_INIT = {"name": "init", "image": "none"}

SITUATIONS: Mapping[str, Object] = {
    "fits": situation(pod(wants(cpu="4", memory="8Gi", gpu="2"))),
    "wants nothing beside a full node": situation(pod(), pod(wants(cpu="4"), name="big")),
    "more processors than there are": situation(pod(wants(cpu="4001m"))),
    "processors taken": situation(pod(wants(cpu="1")), pod(wants(cpu="3500m"), name="big")),
    "more memory than there is": situation(pod(wants(memory="9Gi"))),
    "memory taken": situation(pod(wants(memory="5Gi")), pod(wants(memory="5Gi"), name="big")),
    "no device": situation(pod(wants(gpu="1")), capacity={"nvidia.com/gpu": "0"}),
    "devices taken": situation(pod(wants(gpu="1")), pod(wants(gpu="2"), name="big")),
    "unknown extended resource": situation(pod({"resources": {"limits": {"example.com/dongle": "1"}}})),
    "several short": situation(pod(wants(cpu="9", memory="99Gi", ephemeral_storage="1Ti", gpu="3"))),
    "some beyond the node, some taken": situation(
        pod(wants(cpu="2", memory="99Gi", gpu="1")), pod(wants(cpu="3", gpu="2"), name="big")
    ),
    "several taken": situation(pod(wants(cpu="2", gpu="1")), pod(wants(cpu="3", gpu="2"), name="big")),
    "too many pods": situation(pod(), pod(name="one"), capacity={"pods": "1"}),
    "too many pods and no processors": situation(pod(wants(cpu="9")), pod(name="one"), capacity={"pods": "1"}),
    "init container is the largest": situation(pod(initContainers=[{**_INIT, **wants(cpu="5")}])),
    "init containers run one by one": situation(
        pod(wants(cpu="2"), initContainers=[{**_INIT, **wants(cpu="4")}, {**_INIT, "name": "more", **wants(cpu="4")}])
    ),
    "sidecars count with containers": situation(
        pod(wants(cpu="3"), initContainers=[{**_INIT, **wants(cpu="1500m"), "restartPolicy": "Always"}])
    ),
    "init container after a sidecar": situation(
        pod(
            initContainers=[
                {**_INIT, **wants(cpu="2"), "restartPolicy": "Always"},
                {**_INIT, "name": "more", **wants(cpu="3")},
            ]
        )
    ),
    "resources of the pod itself": situation(pod(resources={"requests": {"cpu": "5"}})),
    "node selector": situation(pod(nodeSelector={"gpu": "a100"})),
    "node selector matches": situation(pod(nodeSelector={"gpu": "a100"}), node=_LABELLED),
    "node affinity": situation(pod(affinity=_affinity(_expression("gpu", "In", "h100")))),
    "node affinity, one of two terms": situation(
        pod(affinity=_affinity(_expression("gpu", "In", "h100"), _expression("cores", "Gt", "8"))), node=_LABELLED
    ),
    "node affinity, absent label": situation(
        pod(affinity=_affinity(_expression("gpu", "DoesNotExist"))), node=_LABELLED
    ),
    "node affinity, not in": situation(pod(affinity=_affinity(_expression("zone", "NotIn", "b")))),
    "node affinity by name": situation(
        pod(affinity=_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}))
    ),
    "taint": situation(pod(), node=_TAINTED),
    "tolerated taint": situation(pod(tolerations=[{"key": "dedicated", "operator": "Exists"}]), node=_TAINTED),
    "other value tolerated": situation(pod(tolerations=[{"key": "dedicated", "value": "other"}]), node=_TAINTED),
    "everything tolerated": situation(pod(tolerations=[{"operator": "Exists"}]), node=_TAINTED),
    "unschedulable": situation(pod(), node=_CORDONED),
    "port taken": situation(pod(_port(8080)), pod(_port(8080), name="server")),
    "port taken with another protocol": situation(pod(_port(8080)), pod(_port(8080, protocol="UDP"), name="server")),
    "port taken at another address": situation(
        pod(_port(8080, hostIP="127.0.0.1")), pod(_port(8080, hostIP="127.0.0.2"), name="server")
    ),
    "port taken at every address": situation(pod(_port(8080, hostIP="127.0.0.1")), pod(_port(8080), name="server")),
    "selector before resources": situation(pod(wants(cpu="9"), nodeSelector={"gpu": "a100"})),
    "port before resources": situation(pod({**_port(8080), **wants(cpu="9")}), pod(_port(8080), name="server")),
    "claim missing": situation(pod(**_CLAIM)),
    "gated": situation(pod(schedulingGates=[{"name": "example.com/wait"}])),
    "never preempts": situation(pod(wants(cpu="1"), priorityClassName="polite"), pod(wants(cpu="4"), name="big")),
}
