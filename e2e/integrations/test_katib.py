"""Jobs as trials of Katib: a webhook adds its collector, as Katib's does; the test is the node and Katib's controller.

What decides is what a trial template says: labels of the primary pod, name of the primary container, two conditions.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.injector import LABEL, installed
from e2e.harness.jobs import CONTAINERS, PLURALS, Namespace, typical
from e2e.harness.operator import Operator
from e2e.integrations.sidecars import ended, tell
from e2e.support import marks

pytestmark = marks.bare  # webhooks are called by the real API server, on this machine

SUCCESS = 'status.conditions.#(type=="Succeeded")#|#(status=="True")#'
FAILURE = 'status.conditions.#(type=="Failed")#|#(status=="True")#'
MASTER = {"training.kubeflow.org/job-role": "master"}
COLLECTOR = {"name": "metrics-logger-and-collector", "image": "example.com/collector:1"}
TRIAL_CRD = "trials.kubeflow.org"
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TRIAL_DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": TRIAL_CRD},
    "spec": {
        "group": "kubeflow.org",
        "scope": "Namespaced",
        "names": {"plural": "trials", "singular": "trial", "kind": "Trial"},
        "versions": [
            {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": OPEN}},
        ],
    },
}


def gjson(value: Any, expression: str) -> list[Any]:
    """What an expression of Katib's kind selects: names joined by dots, filters `#(name=="text")#`, joined by pipes."""
    for part in re.findall(r'#\((\w+)=="([^"]*)"\)#|([^.|]+)', expression):
        name, text, key = part
        if key:
            value = value.get(key, []) if isinstance(value, dict) else []
        else:
            value = [each for each in value if each.get(name) == text]
    return list(value)


class Katib:
    """The collector's webhook: it follows the owners of each pod to its trial, by requests, and adds the collector."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.rejections = 1
        """How many pods are rejected first, as while Katib is down."""

    def change(self, pod: Object) -> list[Object]:
        """Reject a pod whose owners are not as they must be; give the primary one a collector."""
        if self.rejections > 0:
            self.rejections -= 1
            raise LookupError("Katib is down")
        kinds = PLURALS | {"Trial": "trials"}
        owners, names = pod["metadata"].get("ownerReferences", ()), []
        while owners:
            (owner,) = owners
            names.append(owner["name"])
            place = f"namespaces/{pod['metadata']['namespace']}/{kinds[owner['kind']]}"
            path = f"/apis/{owner['apiVersion']}/{place}/{owner['name']}"
            try:
                owners = json.loads(self._cluster.run_kubectl("get", "--raw", path))["metadata"].get("ownerReferences")
            except HarnessError as error:
                raise LookupError(str(error)) from error
        changes: list[Object] = [{"op": "add", "path": "/spec/shareProcessNamespace", "value": True}]
        if MASTER.items() <= pod["metadata"].get("labels", {}).items():
            changes.append({"op": "add", "path": "/spec/containers/-", "value": COLLECTOR})
        return changes if len(names) == 2 else []


@pytest.fixture(scope="module", autouse=True)
def katib(cluster: Cluster, operator: Operator) -> Iterator[Katib]:
    """The definition of trials, and the webhook."""
    katib = Katib(cluster)
    with installed(cluster, "katib", katib.change):
        try:
            cluster.install([TRIAL_DEFINITION])
            yield katib
        finally:
            cluster.run_kubectl("delete", "crd", TRIAL_CRD)


@pytest.fixture
async def jobs(api: Api, namespace: str) -> Namespace:
    """A namespace whose pods are Katib's business."""
    await api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {LABEL: "katib"}}})
    return Namespace(api, namespace)


async def trial(jobs: Namespace, name: str, kind: str) -> tuple[Object, Object]:
    """Create a trial as Katib's controller does; returns its spec and the job to be made of it."""
    spec = {
        "primaryPodLabels": MASTER,
        "primaryContainerName": CONTAINERS[kind],
        "successCondition": SUCCESS,
        "failureCondition": FAILURE,
        "runSpec": typical(name, kind),
    }
    owner = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": name}, "spec": spec}
    uid = (await jobs.api.create(f"/apis/kubeflow.org/v1beta1/namespaces/{jobs.name}/trials", owner))["metadata"]["uid"]
    body = spec["runSpec"]
    assert isinstance(body, dict)
    reference = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": name, "uid": uid}
    body["metadata"]["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    return spec, body


@pytest.mark.shows("INT-094", "INT-095", "INT-096", "INT-097", "INT-098", "INT-119")
@pytest.mark.parametrize(("code", "outcome"), [(0, "successCondition"), (1, "failureCondition")])
async def test_trials_of_every_kind(jobs: Namespace, code: int, outcome: str) -> None:
    async with asyncio.TaskGroup() as tasks:
        for kind in PLURALS:
            tasks.create_task(_trial(jobs, kind, code, outcome), name=kind)


async def _trial(jobs: Namespace, kind: str, code: int, outcome: str) -> None:
    api, name = jobs.api, f"{kind.lower()}-{code}"
    spec, body = await trial(jobs, name, kind)
    path = f"{jobs.jobs(kind)}/{name}"

    async def matches(condition: str) -> list[Object]:
        return gjson(await api.call("GET", path), spec[condition])

    async def nothing_yet() -> bool:
        return not await matches("successCondition") and not await matches("failureCondition")

    body["spec"]["runPolicy"]["suspend"] = True
    await jobs.create(body)
    await jobs.condition(body, "Suspended")
    assert await nothing_yet()
    await api.patch(path, {"spec": {"runPolicy": {"suspend": False}}})
    pods = await jobs.placed(body)
    for pod in pods:
        await tell(api, pod, {})
    await jobs.condition(body, "Running")
    assert await nothing_yet()

    primary = [pod for pod in pods if spec["primaryPodLabels"].items() <= pod["metadata"]["labels"].items()]
    assert len(primary) == 1
    assert [each["name"] for each in primary[0]["spec"]["containers"]] == [CONTAINERS[kind], COLLECTOR["name"]]
    for pod in pods:
        assert spec["primaryContainerName"] in [each["name"] for each in pod["spec"]["containers"]]
        # The training container has ended; the collector, where there is one, still reports.
        await tell(api, pod, {spec["primaryContainerName"]: ended(code)}, _phase(pod, code))

    async def decided() -> list[Object]:
        return await matches(outcome)

    (match,) = await eventually(decided, f"{outcome} of {kind}")
    assert match["reason"].startswith(kind)
    assert match["message"]
    assert not await matches("failureCondition" if outcome == "successCondition" else "successCondition")
    assert primary[0]["metadata"]["name"] in [pod["metadata"]["name"] for pod in await jobs.pods(name)]
    # As with `retain: false`; nothing of ours may hold it.
    await api.delete(path, "Foreground")

    async def gone() -> bool:
        return await api.get(path) is None and not await jobs.pods(name)

    await eventually(gone, f"deletion of {kind} {name}", 60)


def _phase(pod: Object, code: int) -> str:
    """The phase that a kubelet gives a pod whose training container has ended while the collector runs."""
    if len(pod["spec"]["containers"]) > 1:
        return "Running"
    return "Failed" if code else "Succeeded"


def test_expressions_select_what_katib_would() -> None:
    conditions = [{"type": "Succeeded", "status": "False"}, {"type": "Failed", "status": "True", "reason": "r"}]
    stored = {"status": {"conditions": conditions}}
    assert gjson(stored, SUCCESS) == []
    assert gjson(stored, FAILURE) == [conditions[1]]
    assert gjson({}, FAILURE) == []
