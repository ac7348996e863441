"""Pods, services and autoscalers that a real API server stored are what the embedded one makes of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.support.paths import ROOT

from training_local.apiserver.builtin.autoscalers import AUTOSCALER_RULES
from training_local.apiserver.builtin.pods import POD_RULES
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.builtin.services import SERVICE_RULES
from training_local.apiserver.resource_types import Context

Json = dict[str, Any]

GOLDEN = ROOT / "e2e" / "conformance" / "golden"
NOW = Context("2024-01-01T00:00:00Z", "n")
POD_DEFAULTS = (
    "dnsPolicy",
    "enableServiceLinks",
    "preemptionPolicy",
    "priority",
    "schedulerName",
    "securityContext",
    "terminationGracePeriodSeconds",
)
CONTAINER_DEFAULTS = ("terminationMessagePath", "terminationMessagePolicy")
SERVICE_DEFAULTS = ("internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "sessionAffinity", "type")


def _recorded(sort: str) -> Iterator[Json]:
    for path in sorted(GOLDEN.glob("*.json")):
        for number, snapshot in enumerate(json.loads(path.read_text())["snapshots"]):
            # Later snapshots show what has happened to the objects since.
            if number == 0:
                yield from snapshot["state"][sort]


def _created(rules: BuiltinRules, obj: Json, api_version: str) -> Json:
    given = {**copy.deepcopy(obj), "apiVersion": api_version, "kind": rules.kind}
    given.pop("status", None)
    admitted = rules.for_create(rules.decode(given).obj, NOW)
    assert not admitted.causes
    return {key: value for key, value in admitted.obj.items() if key not in ("apiVersion", "kind")}


def _containers(pod: Json) -> Iterator[Json]:
    yield from pod["spec"]["containers"]
    yield from pod["spec"].get("initContainers", ())


def test_pods() -> None:
    pods = [*_recorded("pods")]
    assert [_stored_pod(pod) for pod in pods] == pods
    assert len(pods) > 50


def _stored_pod(pod: Json) -> Json:
    """The pod as it is stored, if it is given without defaults."""
    bare = copy.deepcopy(pod)
    for field in POD_DEFAULTS:
        bare["spec"].pop(field, None)
    lost = [each for each in bare["spec"]["tolerations"] if not each.get("key", "").startswith("node.kubernetes.io/")]
    bare["spec"]["tolerations"] = lost
    for container in _containers(bare):
        for field in CONTAINER_DEFAULTS:
            container.pop(field, None)
        if not container["resources"]:
            del container["resources"]
    return _created(POD_RULES, bare, "v1")


def test_services() -> None:
    services = [*_recorded("services")]
    assert [_stored_service(service) for service in services] == services
    assert len(services) > 50


def _stored_service(service: Json) -> Json:
    bare = copy.deepcopy(service)
    for field in SERVICE_DEFAULTS:
        bare["spec"].pop(field, None)
    for port in bare["spec"].get("ports", ()):
        if port["targetPort"] == port["port"]:
            del port["targetPort"]
        if port["protocol"] == "TCP":
            del port["protocol"]
    created = _created(SERVICE_RULES, bare, "v1")
    # The recordings leave out addresses, which differ from run to run.
    created["spec"].pop("clusterIPs")
    return created


@pytest.mark.parametrize("autoscaler", [*_recorded("horizontalpodautoscalers")])
def test_autoscalers(autoscaler: Json) -> None:
    bare = copy.deepcopy(autoscaler)
    if bare["spec"]["minReplicas"] == 1:
        del bare["spec"]["minReplicas"]
    assert _created(AUTOSCALER_RULES, bare, "autoscaling/v2") == autoscaler
