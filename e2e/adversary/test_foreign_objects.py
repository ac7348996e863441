"""Objects of others under the names that MPIJobs need: none is used or touched, and none gets a job's permissions."""

from __future__ import annotations

from typing import Any

import pytest
from e2e.harness.client import Api, Object
from e2e.harness.jobs import Namespace, typical
from e2e.harness.operator import Operator
from e2e.support import marks

pytestmark = [marks.bare, pytest.mark.usefixtures("operator")]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
WIDE = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
SCRIPT = {"kubexec.sh": "#!/bin/sh\necho theirs", "ssh.sh": "#!/bin/sh\necho theirs"}


async def may(api: Api, namespace: str, account: str, **attributes: str) -> bool:
    """Whether an account of the namespace has a right there."""
    user = f"system:serviceaccount:{namespace}:{account}"
    question = {"spec": {"user": user, "resourceAttributes": {"namespace": namespace, **attributes}}}
    answer = await api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", question)
    return bool(answer["status"]["allowed"])


async def try_again(jobs: Namespace, name: str) -> None:
    """Change the spec of an MPIJob, so that names that were taken are tried at once, not after a minute."""
    await jobs.api.patch(f"{jobs.jobs('MPIJob')}/{name}", {"spec": {"runPolicy": {"backoffLimit": 7}}})


def mpi(name: str, launch: str = "exec") -> Object:
    body: dict[str, Any] = typical(name, "MPIJob")
    body["metadata"]["annotations"] = {"extension.training.kubeflow.org/mpi-launch": launch}
    return body


async def test_nobody_is_bound_to_a_role_of_somebody_else(jobs: Namespace) -> None:
    api, roles = jobs.api, f"{RBAC}/namespaces/{jobs.name}/roles"
    await api.create(roles, {"metadata": {"name": "ci-launcher"}, "rules": WIDE})
    await jobs.create(mpi("ci"))
    await jobs.waits(mpi("ci"), "NameTaken", "Role ci-launcher already exists")
    assert await api.get(f"{RBAC}/namespaces/{jobs.name}/rolebindings/ci-launcher") is None
    assert not await may(api, jobs.name, "ci-launcher", verb="get", resource="secrets")
    assert (await api.call("GET", f"{roles}/ci-launcher"))["rules"] == WIDE
    assert await jobs.pods("ci") == []
    await api.delete(f"{roles}/ci-launcher")
    await try_again(jobs, "ci")
    await jobs.pods_reach("ci", 2)
    assert not await may(api, jobs.name, "ci-launcher", verb="get", resource="secrets")


@pytest.mark.parametrize("launch", ["exec", "ssh"])
async def test_no_script_of_somebody_else_runs_in_a_job(jobs: Namespace, launch: str) -> None:
    config = f"/api/v1/namespaces/{jobs.name}/configmaps"
    before = await jobs.api.create(config, {"metadata": {"name": "vic-config"}, "data": SCRIPT})
    await jobs.create(mpi("vic", launch))
    await jobs.waits(mpi("vic"), "NameTaken", "ConfigMap vic-config already exists")
    assert await jobs.pods("vic") == []
    assert await jobs.api.call("GET", f"{config}/vic-config") == before


async def test_no_launcher_runs_as_an_account_of_somebody_else_that_nobody_named(jobs: Namespace) -> None:
    accounts = f"/api/v1/namespaces/{jobs.name}/serviceaccounts"
    await jobs.api.create(accounts, {"metadata": {"name": "run-launcher"}})
    await jobs.create(mpi("run"))
    await jobs.waits(mpi("run"), "NameTaken", "ServiceAccount run-launcher already exists")
    assert await jobs.pods("run") == []


async def test_a_role_that_only_says_to_be_the_job_s_is_made_narrow_before_anybody_is_bound_to_it(
    jobs: Namespace, operator: Operator
) -> None:
    api, suspended = jobs.api, mpi("own")
    suspended["spec"]["runPolicy"]["suspend"] = True
    job = await api.create(jobs.jobs("MPIJob"), suspended)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "own", "uid": job["metadata"]["uid"]}
    planted = {"name": "own-launcher", "labels": {"app": "own"}, "ownerReferences": [{**owner, "controller": True}]}
    await api.create(f"{RBAC}/namespaces/{jobs.name}/roles", {"metadata": planted, "rules": WIDE})
    await api.patch(f"{jobs.jobs('MPIJob')}/own", {"spec": {"runPolicy": {"suspend": False}}})
    await jobs.pods_reach("own", 2)
    assert not await may(api, jobs.name, "own-launcher", verb="get", resource="secrets")
    enter = {"verb": "create", "resource": "pods", "subresource": "exec"}
    assert await may(api, jobs.name, "own-launcher", name="own-worker-0", **enter)
