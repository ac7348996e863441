"""What users do with kubectl where no pod needs to run; tests play the nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from e2e.harness.client import eventually
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import PLURALS, REPLICAS, Namespace, job, master_pod, typical
from e2e.support.profiles import KINDS_NOW, often

pytestmark = pytest.mark.usefixtures("operator")
Kubectl = Callable[..., str]
SCALED = ("PyTorchJob", "PaddleJob", "JAXJob")
"""The kinds that v1 lets scale."""
PREFIX = "training.kubeflow.org"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.mark.shows("SDK-5.1", "SDK-5.3.9", "SDK-8.1", "SDK-8.2", "SDK-8.3", "SDK-8.4", "SDK-8.5", "SDK-8.6", "SDK-8.7")
@pytest.mark.shows("SDK-8.8", "SDK-8.16", "SDK-S12")
@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
async def test_apply_wait_get_delete(jobs: Namespace, kubectl: Kubectl, kind: str) -> None:
    """The life of a job as its owner sees it."""
    one, many, lead = kind.lower(), PLURALS[kind], master_pod("mnist", kind)
    workers = ["mnist-worker-0", "mnist-worker-1"]
    pods = sorted({lead, *workers})
    body = typical("mnist", kind, workers=2)
    assert kubectl("apply", "-f", "-", stdin=json.dumps(body)) == f"{one}.kubeflow.org/mnist created\n"
    kubectl("wait", f"{one}/mnist", "--for=condition=Created", "--timeout=30s")
    await jobs.pods_reach("mnist", len(pods))

    def found(selector: str) -> list[str]:
        return sorted(kubectl("get", "pods", "-l", selector, "-o", "name").replace("pod/", "").split())

    assert found(f"{PREFIX}/job-name=mnist,{PREFIX}/replica-type=worker") == workers
    assert found(f"{PREFIX}/job-name=mnist,{PREFIX}/job-role=master") == [lead]
    await jobs.set_phase("mnist", "Running")
    kubectl("wait", f"{one}/mnist", "--for=condition=Running", "--timeout=30s")
    heading, row = kubectl("get", many).splitlines()
    columns = ["NAME", "AGE", "STATE"] if kind == "MPIJob" else ["NAME", "STATE", "AGE"]
    assert heading.split() == columns
    assert row.split()[columns.index("STATE")] == "Running"
    assert {"WORKER", "WAITING"} <= set(kubectl("get", many, "-o", "wide").splitlines()[0].split())
    chosen = "N:.metadata.name,ACTIVE:.status.replicaStatuses.Worker.active"
    assert kubectl("get", many, "-o", f"custom-columns={chosen}").splitlines()[1].split() == ["mnist", "2"]

    await jobs.set_phase("mnist", "Succeeded")
    kubectl("wait", f"{one}/mnist", "--for=condition=Succeeded", "--timeout=30s")
    asked = "{.status} {.reason} {.lastUpdateTime} {.lastTransitionTime} {.message}"
    told = kubectl(
        "get", one, "mnist", "-o", f'jsonpath={{range .status.conditions[?(@.type=="Succeeded")]}}{asked}{{end}}'
    )
    assert re.fullmatch(rf"True {kind}Succeeded {TIME} {TIME} {kind} .*successfully completed\.", told), told
    assert "JobSucceeded" in kubectl("describe", one, "mnist")
    assert found(f"{PREFIX}/job-name=mnist") == pods
    kubectl("delete", one, "mnist", "--wait=false")
    kubectl("wait", f"{one}/mnist", "--for=delete", "--timeout=30s")
    await jobs.pods_reach("mnist", 0)


@pytest.mark.shows("SDK-5.3.5", "SDK-8.6")
@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
async def test_wait_for_failure(jobs: Namespace, kubectl: Kubectl, kind: str) -> None:
    """Failed is failed, whatever pods say later."""
    body = typical("lost", kind)
    await jobs.create(body)
    await jobs.pods_reach("lost", 1 if kind == "JAXJob" else 2)
    await jobs.set_phase("lost", "Failed")
    kubectl("wait", f"{kind.lower()}/lost", "--for=condition=Failed", "--timeout=30s")
    path = f"{jobs.jobs(kind)}/lost"
    before = (await jobs.api.call("GET", path))["status"]["conditions"]
    await jobs.set_phase("lost", "Running")
    await jobs.api.patch(path, {"spec": {"runPolicy": {"backoffLimit": 7}}})

    async def seen() -> bool:
        return bool((await jobs.api.call("GET", path))["status"].get("observedGeneration") == 2)

    await eventually(seen, "the operator's look at the change")
    assert (await jobs.api.call("GET", path))["status"]["conditions"] == before


@pytest.mark.shows("SDK-8.10", "SDK-S12")
@pytest.mark.parametrize("kind", often(SCALED, "PyTorchJob"))
async def test_scale(jobs: Namespace, kubectl: Kubectl, kind: str) -> None:
    """Up and down through the subresource, which tells what an autoscaler asks for."""
    body = typical("wide", kind)
    others = 0 if kind == "JAXJob" else 1
    await jobs.create(body)
    await jobs.pods_reach("wide", 1 + others)
    kubectl("scale", f"{kind.lower()}/wide", "--replicas=3", "--current-replicas=1")
    await jobs.pods_reach("wide", 3 + others)
    await jobs.set_phase("wide", "Running")

    async def scale() -> dict[str, object] | None:
        found = await jobs.api.call("GET", f"{jobs.jobs(kind)}/wide/scale")
        return found if found["status"]["replicas"] == 3 else None

    told = await eventually(scale, "three active workers")
    assert told["spec"] == {"replicas": 3}
    selector = set(str(told["status"]["selector"]).split(","))  # type: ignore[index]  # the shape of a Scale
    assert {f"{PREFIX}/job-name=wide", f"{PREFIX}/replica-type=worker"} <= selector
    kubectl("scale", f"{kind.lower()}/wide", "--replicas=1")
    await jobs.pods_reach("wide", 1 + others)


@pytest.mark.shows("SDK-8.10")
@pytest.mark.parametrize("kind", often(sorted(PLURALS.keys() - set(SCALED)), "MPIJob"))
async def test_kinds_that_do_not_scale(jobs: Namespace, kubectl: Kubectl, kind: str) -> None:
    """As in v1."""
    await jobs.create(typical("fixed", kind))
    with pytest.raises(HarnessError, match="NotFound"):
        kubectl("scale", f"{kind.lower()}/fixed", "--replicas=3")


@pytest.mark.shows("SDK-8.16", "SDK-S10")
@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
async def test_delete_and_what_becomes_of_pods(jobs: Namespace, kubectl: Kubectl, cascade: str) -> None:
    """Pods go with their job, in the foreground before it; orphans stay and have no owner."""
    await jobs.create(job("old", Master=1, Worker=1))
    await jobs.pods_reach("old", 2)
    kubectl("delete", "pytorchjob/old", f"--cascade={cascade}", "--timeout=60s")
    if cascade == "orphan":
        pods = await jobs.pods("old")
        assert [pod["metadata"].get("ownerReferences", []) for pod in pods] == [[], []]
    elif cascade == "foreground":
        assert await jobs.pods("old") == []
    else:
        await jobs.pods_reach("old", 0)


@pytest.mark.shows("SDK-5.3.8", "SDK-8.15")
async def test_suspend_and_resume(jobs: Namespace, kubectl: Kubectl) -> None:
    """Pods and services go and come; the state says so until it runs."""
    await jobs.create(job("paused", Master=1, Worker=1))
    await jobs.pods_reach("paused", 2)
    kubectl("patch", "pytorchjob/paused", "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}')
    kubectl("wait", "pytorchjob/paused", "--for=condition=Suspended", "--timeout=30s")
    await jobs.pods_reach("paused", 0)

    async def no_services() -> bool:
        return kubectl("get", "services", "-l", f"{PREFIX}/job-name=paused", "-o", "name") == ""

    await eventually(no_services, "no services")
    assert kubectl("get", "pytorchjob/paused").splitlines()[1].split()[1] == "Suspended"
    kubectl("patch", "pytorchjob/paused", "--type=json", "-p", '[{"op":"remove","path":"/spec/runPolicy/suspend"}]')
    kubectl("wait", "pytorchjob/paused", "--for=condition=Suspended=false", "--timeout=30s")
    await jobs.pods_reach("paused", 2)
    assert kubectl("get", "pytorchjob/paused").splitlines()[1].split()[1] == "Created"


@pytest.mark.shows("SDK-8.19")
async def test_edit_and_annotate(jobs: Namespace, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edited number of replicas counts; pods that run keep the template they were made of."""
    body = job("edited", Worker=2)
    await jobs.create(body)
    await jobs.pods_reach("edited", 2)
    kubectl("annotate", "pytorchjob/edited", "team=a")
    monkeypatch.setenv("KUBE_EDITOR", "sed -i 's/replicas: 2/replicas: 3/'")
    assert kubectl("edit", "pytorchjob/edited") == "pytorchjob.kubeflow.org/edited edited\n"
    await jobs.pods_reach("edited", 3)
    monkeypatch.setenv("KUBE_EDITOR", "sed -i 's#example.com/train:1#example.com/train:2#'")
    kubectl("edit", "pytorchjob/edited")
    path = f"{jobs.jobs('PyTorchJob')}/edited"

    async def seen() -> bool:
        return bool((await jobs.api.call("GET", path))["status"].get("observedGeneration") == 3)

    await eventually(seen, "the operator's look at the change")
    assert {pod["spec"]["containers"][0]["image"] for pod in await jobs.pods("edited")} == {"example.com/train:1"}


@pytest.mark.shows("SDK-8.17")
async def test_a_deleted_pod_comes_back(jobs: Namespace, kubectl: Kubectl) -> None:
    """With the same name."""
    await jobs.create(job("lasting", Worker=2))
    await jobs.pods_reach("lasting", 2)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await jobs.pods("lasting")}
    kubectl("delete", "pod", "lasting-worker-1", "--grace-period=0", "--force")

    async def back() -> bool:
        now = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await jobs.pods("lasting")}
        return now.keys() == before.keys() and now["lasting-worker-1"] != before["lasting-worker-1"]

    await eventually(back, "another pod of that name")


@pytest.mark.shows("SDK-8.13")
async def test_replica_types_in_any_case(jobs: Namespace, kubectl: Kubectl) -> None:
    """As v1's controllers read them."""
    body = job("small", Master=1, Worker=1)
    specs = body["spec"][REPLICAS["PyTorchJob"]]
    body["spec"][REPLICAS["PyTorchJob"]] = {name.lower(): spec for name, spec in specs.items()}
    kubectl("create", "-f", "-", stdin=json.dumps(body))
    await jobs.pods_reach("small", 2)


@pytest.mark.shows("SDK-8.18")
async def test_what_v1_has_not_either(jobs: Namespace, kubectl: Kubectl) -> None:
    """These jobs are not rolled out; `kubectl autoscale` is in test_hpa.py."""
    await jobs.create(job("still", Worker=1))
    with pytest.raises(HarnessError, match='no kind "PyTorchJob" is registered'):
        kubectl("rollout", "status", "pytorchjob/still")


@pytest.mark.shows("SDK-8.12", "SDK-S12")
def test_explain_reaches_into_the_pod_template(kubectl: Kubectl) -> None:
    assert "FIELD: command" in kubectl(
        "explain", "pytorchjob.spec.pytorchReplicaSpecs.template.spec.containers.command"
    )


@pytest.mark.shows("SDK-8.14")
def test_definitions_are_small_enough_for_apply(kubectl: Kubectl) -> None:
    """Kubectl has kept each of them whole in the annotation of `kubectl apply`."""
    names = [f"{plural}.kubeflow.org" for plural in PLURALS.values()]
    found = json.loads(kubectl("get", "crds", *names, "-o", "json"))["items"]
    kept = [crd["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] for crd in found]
    assert [json.loads(text)["metadata"]["name"] for text in kept] == names
