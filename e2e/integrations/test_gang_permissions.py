"""Gangs with an operator that has the rights of `deploy/components`, and no others on PodGroups."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.harness.operator import running_operator
from e2e.integrations.test_gang import VOLCANO, VOLCANO_API, Stage, defined, definition, job
from e2e.support import marks
from e2e.support.paths import ROOT
from e2e.support.profiles import often

COMPONENTS = ROOT / "deploy" / "components"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLAGS = ("--enable-scheme=jaxjob", "--enable-scheme=pytorchjob", "--gang-scheduler-name=volcano")
OTHERS = {"apiGroups": ["", "kubeflow.org", "autoscaling"], "resources": ["*"], "verbs": ["*"]}
"""What the operator may do beside PodGroups; not what this is about."""
YUNIKORN = {"yunikorn.apache.org/task-groups": '[{"name": "worker", "minMember": 3, "minResource": {"cpu": "1"}}]'}


@pytest.fixture
async def limited(cluster: Cluster, api: Api, namespace: str, tmp_path: Path) -> AsyncIterator[Path]:
    """A kubeconfig of a service account with the rights of the component for Volcano."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await api.create(accounts, {"metadata": {"name": "operator"}})
    token = await api.create(f"{accounts}/operator/token", {"spec": {}})
    role, binding = yaml.safe_load_all((COMPONENTS / "volcano" / "rbac.yaml").read_text())
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    others, name = {"metadata": {"name": f"{namespace}-others"}, "rules": [OTHERS]}, f"{namespace}-others"
    for each in (role, others):
        await api.create(f"{RBAC}/clusterroles", each)
    for each, of in ((binding["metadata"]["name"], role["metadata"]["name"]), (name, name)):
        body = {"metadata": {"name": each}, "roleRef": {**reference, "name": of}, "subjects": [subject]}
        await api.create(f"{RBAC}/clusterrolebindings", body)
    known: Object = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    user = {"token": token["status"]["token"]}
    yield write_kubeconfig(tmp_path / "limited", known["server"], Path(known["certificate-authority"]), user)
    for each in (role["metadata"]["name"], name):
        await api.delete(f"{RBAC}/clusterroles/{each}")
        await api.delete(f"{RBAC}/clusterrolebindings/{each}")


@marks.real  # the embedded API server issues no tokens on request
async def test_gangs_opted_out_elastic_restarted_over_with_no_more_rights_than_needed(
    limited: Path, api: Api, namespace: str, tmp_path: Path
) -> None:
    stage = Stage(api, namespace, VOLCANO_API)
    elastic = job("PyTorchJob", "elastic")
    elastic["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 4}
    del elastic["spec"]["pytorchReplicaSpecs"]["Master"]
    elastic["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 3
    opted_out, waiting = job("JAXJob", "opted-out"), job("JAXJob", "waiting")
    opted_out["metadata"]["annotations"] = {"extension.training.kubeflow.org/gang-scheduling": "false"}
    async with defined(api, definition(VOLCANO)):
        with running_operator(limited, tmp_path / "first.log", *FLAGS):
            for body in (elastic, opted_out, waiting):
                await stage.create(body)
            for pod in await stage.pods_reach("opted-out", 3):
                assert (pod["spec"]["schedulerName"], pod["metadata"].get("annotations")) == ("default-scheduler", None)
            group = await stage.group("elastic")
            assert (group["spec"]["minMember"], group["spec"]["minResources"]) == (1, {"cpu": "1", "memory": "2Gi"})
            await stage.waits(waiting, "GangPending")
            await stage.set_group("elastic", "Inqueue")
            await stage.pods_reach("elastic", 3)
        # While no operator watches, one gang is let in, and the other one's PodGroup is deleted.
        version = (await stage.group("elastic"))["metadata"]["resourceVersion"]
        await stage.set_group("waiting", "Inqueue")
        await api.delete(f"{VOLCANO_API}/namespaces/{namespace}/podgroups/elastic")
        with running_operator(limited, tmp_path / "second.log", *FLAGS) as operator:
            await stage.pods_reach("waiting", 3)
            assert (await stage.group("elastic"))["metadata"]["resourceVersion"] != version
            await stage.pods_reach("elastic", 3)
            await _follows_and_ends(stage, waiting)
            assert await api.get(f"{VOLCANO_API}/namespaces/{namespace}/podgroups/opted-out") is None
            assert "is forbidden: User" not in operator.child.output()
            assert "Traceback" not in operator.child.output()


async def _follows_and_ends(stage: Stage, waiting: Object) -> None:
    """The PodGroup is patched with the policy, and deleted at the end."""
    await stage.patch(waiting, {"schedulingPolicy": {"minAvailable": 2}})

    async def follows() -> bool:
        return bool((await stage.group("waiting"))["spec"]["minMember"] == 2)

    await eventually(follows, "the PodGroup to follow the policy")
    await stage.set_phase("waiting", "Running")
    await stage.set_phase("waiting", "Succeeded")
    await stage.condition(waiting, "Succeeded")
    await stage.no_group("waiting")


@pytest.mark.shows("INT-086")
@pytest.mark.parametrize("scheduler", often(["kai-scheduler", "yunikorn", "default-scheduler"], "yunikorn"))
async def test_schedulers_without_pod_groups_of_ours_get_pods_as_the_user_wrote_them(
    scheduler: str, cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    stage, flags = Stage(api, namespace, VOLCANO_API), ("--enable-scheme=jaxjob", f"--gang-scheduler-name={scheduler}")
    body = job("JAXJob", "other")
    labels = {"kai.scheduler/queue": "team", "yunikorn.apache.org/app-id": "other", "queue": "root.team"}
    body["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": labels, "annotations": YUNIKORN}
    async with defined(api, definition(VOLCANO)):
        with running_operator(cluster.kubeconfig, tmp_path / "operator.log", *flags):
            await stage.create(body)
            for pod in await stage.placed(body):
                assert pod["spec"]["schedulerName"] == scheduler
                assert labels.items() <= pod["metadata"]["labels"].items()
                assert pod["metadata"]["annotations"] == YUNIKORN
                assert [owner["kind"] for owner in pod["metadata"]["ownerReferences"]] == ["JAXJob"]
            assert (await api.call("GET", f"{VOLCANO_API}/podgroups"))["items"] == []
