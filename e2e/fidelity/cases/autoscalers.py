"""Horizontal pod autoscalers: defaults and rejections."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player

TARGET = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "job"}


def _autoscaler(**spec: Any) -> dict[str, Any]:
    whole = {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {name: value for name, value in whole.items() if value is not None},
    }


async def _create(api: Player, **spec: Any) -> None:
    collection = f"/apis/autoscaling/v2/namespaces/{api.namespace}/horizontalpodautoscalers"
    await api.post(collection, _autoscaler(**spec), dryRun="All")


def _cpu(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


async def smallest(api: Player) -> None:
    await _create(api)


async def with_metrics(api: Player) -> None:
    await _create(api, minReplicas=2, metrics=[_cpu(type="Utilization", averageUtilization=50)])
    await _create(api, metrics=[_cpu(type="AverageValue", averageValue="0.5")])


async def with_behavior(api: Player) -> None:
    await _create(api, behavior={})
    await _create(api, behavior={"scaleDown": {"stabilizationWindowSeconds": 60}})
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 30}]
    await _create(api, behavior={"scaleUp": {"policies": policies, "selectPolicy": "Min"}})


async def counts(api: Player) -> None:
    await _create(api, maxReplicas=None)
    await _create(api, maxReplicas=0)
    await _create(api, minReplicas=0)
    await _create(api, minReplicas=5)


async def targets(api: Player) -> None:
    await _create(api, scaleTargetRef=None)
    await _create(api, scaleTargetRef={"kind": "A/B", "name": "x%y"})


async def metrics(api: Player) -> None:
    await _create(api, metrics=[{}])
    await _create(api, metrics=[{"type": "Cpu"}])
    await _create(api, metrics=[{"type": "Resource"}])
    await _create(api, metrics=[_cpu()])
    await _create(api, metrics=[_cpu(type="Utilization")])
    await _create(api, metrics=[_cpu(type="Utilization", averageUtilization=0)])
    await _create(api, metrics=[_cpu(type="Utilization", averageUtilization=1, averageValue="1")])
    await _create(api, metrics=[_cpu(type="AverageValue", averageValue="-1")])
    await _create(api, metrics=[{**_cpu(type="Utilization", averageUtilization=1), "type": "Pods"}])


async def unknown_fields(api: Player) -> None:
    collection = f"/apis/autoscaling/v2/namespaces/{api.namespace}/horizontalpodautoscalers"
    await api.post(collection, _autoscaler(maxReplica=1), fieldValidation="Strict")
