"""Whatever is wrong outside: one clear sentence, no traceback, and the other jobs go on."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from e2e.harness.client import ApiError, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, job, log_line
from e2e.harness.json_lines import json_lines
from e2e.harness.operator import PROGRAM, WRITES, Operator
from e2e.support import marks

MEBIBYTE = 1 << 20
EXTENSIONS = ("observedGeneration", "waiting", "attempt")
REPLICA_EXTENSIONS = ("restarts", "ready", "completedIndexes", "restartingIndexes")
"""Status fields that v1 does not have."""
LEASE = "1ca428e5.training-operator.kubeflow.org"


class Start(Protocol):
    """Starts an operator, with further flags."""

    def __call__(self, kubeconfig: Path, *flags: str) -> Operator: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start an operator that need not become ready; it is ended after the test."""
    operators: list[Operator] = []

    def start(kubeconfig: Path, *flags: str) -> Operator:
        operators.append(Operator(kubeconfig, tmp_path / f"operator-{len(operators)}.log", *flags))
        return operators[-1]

    yield start
    for operator in operators:
        operator.child.kill()


def rejection(*flags: str) -> str:
    """The one sentence that the operator says before it gives up by itself."""
    done = subprocess.run(
        [PROGRAM, "run", "--metrics-bind-address=0", "--health-probe-bind-address=0", *flags],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    [sentence] = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("{")]
    assert sentence.startswith("training-operator: ")
    return sentence


def kubeconfig(cluster: Cluster, path: Path, token: str) -> Path:
    """The cluster's kubeconfig with another user."""
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": token}
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))
    return path


def test_expired_token(cluster: Cluster, tmp_path: Path) -> None:
    file = kubeconfig(cluster, tmp_path / "kubeconfig", "no-longer-valid")
    said = rejection(f"--kubeconfig={file}")
    assert str(file) in said
    assert "expired" in said
    assert "no-longer-valid" not in said


@marks.real  # the embedded API server has no users: everybody may do everything
async def test_missing_permission_is_named_and_goes_on_when_granted(
    cluster: Cluster, jobs: Namespace, tmp_path: Path, start: Start
) -> None:
    account = f"/api/v1/namespaces/{jobs.name}/serviceaccounts"
    await jobs.api.create(account, {"metadata": {"name": "operator"}})
    request = await jobs.api.create(f"{account}/operator/token", {"spec": {}})
    file = kubeconfig(cluster, tmp_path / "kubeconfig", request["status"]["token"])
    operator = start(file, "--leader-elect", f"--operator-namespace={jobs.name}")
    line = await log_line(operator.child.output, "pytorchjobs.kubeflow.org")
    said = json.loads(line)
    assert (said["verb"], said["resource"]) == ("watch", "pytorchjobs.kubeflow.org")
    assert said["apply"] == "deploy/base/permissions.yaml"

    async def named() -> bool:
        named = _missing(operator)
        return len(named) >= 8 and ("get", "leases", "coordination.k8s.io") in named

    await eventually(named, "every missing permission is named, before they are granted")
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    await jobs.api.create(
        bindings,
        {
            "metadata": {"name": jobs.name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": jobs.name}],
        },
    )
    try:
        await jobs.run_to_success(job("granted", Master=1))
    finally:
        await jobs.api.delete(f"{bindings}/{jobs.name}")
    assert "Traceback" not in operator.child.output()
    said_once = [(line["event"], line["verb"], line["resource"]) for line in _lines(operator)]
    assert len(said_once) == len(set(said_once))


def _lines(operator: Operator) -> list[dict[str, str]]:
    """What the operator has logged of missing permissions."""
    named = ("a permission is missing", "no permission for this resource")
    said = json_lines(operator.child.log)
    return [line for line in said if line["event"].startswith(named)]


def _missing(operator: Operator) -> set[tuple[str, str, str]]:
    """Verb, resource and group of the permissions that the operator has named as missing."""
    named = ((line, line["resource"].partition(".")) for line in _lines(operator))
    return {(line["verb"], resource, line.get("group", group)) for line, (resource, _, group) in named}


async def test_the_lease_of_the_go_operator_is_waited_for(cluster: Cluster, jobs: Namespace, start: Start) -> None:
    """As client-go writes it; its field manager is the name of the Go operator's program."""
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{jobs.name}/leases"
    spec = {"holderIdentity": "training-operator-6f_1", "leaseDurationSeconds": 8, "leaseTransitions": 0}
    body = {"metadata": {"name": LEASE}, "spec": {**spec, "renewTime": _wire_time(), "acquireTime": _wire_time()}}
    await jobs.api.create(f"{leases}?fieldManager=manager", body)
    renewed = 0

    async def renew() -> None:
        nonlocal renewed
        while True:
            await jobs.api.patch(f"{leases}/{LEASE}?fieldManager=manager", {"spec": {"renewTime": _wire_time()}})
            renewed += 1
            await asyncio.sleep(1)

    renewing = asyncio.create_task(renew())
    operator = start(cluster.kubeconfig, "--leader-elect", f"--operator-namespace={jobs.name}")
    line = json.loads(await log_line(operator.child.output, "another operator holds the lease"))
    assert (line["holder"], line["program"]) == ("training-operator-6f_1", "manager")
    await asyncio.to_thread(operator.wait_ready)
    await jobs.create(job("waiting", Master=1))
    goal = renewed + 4

    async def renewed_often() -> bool:
        return renewed >= goal

    await eventually(renewed_often, "the lease was renewed some more times")
    assert operator.counted(WRITES) == 0
    assert await jobs.pods("waiting") == []
    renewing.cancel()
    await jobs.pods_reach("waiting", 1)
    assert operator.child.stop() == 0


def _wire_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def test_definitions_without_our_status_fields_are_told_of_once(
    cluster: Cluster, jobs: Namespace, start: Start
) -> None:
    """As v1 has them, as far as the status is concerned."""
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/xgboostjobs.kubeflow.org"
    version = (await jobs.api.call("GET", crd))["spec"]["versions"][0]
    old = copy.deepcopy(version)
    status = old["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    replica = status["replicaStatuses"]["additionalProperties"]["properties"]
    for fields, names in ((status, EXTENSIONS), (replica, REPLICA_EXTENSIONS)):
        for name in names:
            del fields[name]
    await jobs.api.patch(crd, {"spec": {"versions": [old]}})
    try:
        await eventually(partial(_pruned, jobs), "the server drops the fields")
        operator = start(cluster.kubeconfig)
        for name in ("first", "second"):
            await jobs.run_to_success(job(name, "XGBoostJob", Master=1, Worker=1))
    finally:
        await jobs.api.patch(crd, {"spec": {"versions": [version]}})
    said = json_lines(operator.child.log)
    told = [line["resource"] for line in said if "is older than the operator" in line["event"]]
    assert told == ["xgboostjobs.kubeflow.org"]
    assert "Traceback" not in operator.child.output()


async def _pruned(jobs: Namespace) -> bool:
    """Whether a status field of ours is dropped from what is stored."""
    path, name = jobs.jobs("XGBoostJob"), "probe"
    with contextlib.suppress(ApiError):  # it is there already
        await jobs.create(suspended(job(name, "XGBoostJob", Master=1)))
    stored = await jobs.api.patch(f"{path}/{name}/status", {"status": {"observedGeneration": 7}})
    return "observedGeneration" not in stored["status"]


def suspended(body: dict[str, Any]) -> dict[str, Any]:
    """The job, which does not run."""
    body["spec"]["runPolicy"] = {"suspend": True}
    return body


async def test_objects_that_are_no_jobs_do_not_disturb_others(cluster: Cluster, jobs: Namespace, start: Start) -> None:
    """Stored while another CRD was in place, for example v1's or none of ours."""
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pytorchjobs.kubeflow.org"
    versions = (await jobs.api.call("GET", crd))["spec"]["versions"]
    anything = {
        **versions[0],
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}},  # `scale` would look into the spec
    }
    names = [f"broken-{number}" for number in range(len(BROKEN_SPECS))]
    await jobs.api.patch(crd, {"spec": {"versions": [anything]}})
    try:
        for name, spec in zip(names, BROKEN_SPECS, strict=True):
            await eventually(partial(_stored, jobs, name, spec), f"{name} is stored")
    finally:
        await jobs.api.patch(crd, {"spec": {"versions": versions}})
    operator = start(cluster.kubeconfig)
    await jobs.run_to_success(job("sound", Master=1, Worker=1))
    events = (await jobs.api.call("GET", f"/api/v1/namespaces/{jobs.name}/events?fieldSelector=type=Warning"))["items"]
    told = {event["involvedObject"]["name"]: event["message"] for event in events}
    assert told.keys() == set(names)
    assert all("because spec" in message for message in told.values()), told
    assert "Traceback" not in operator.child.output()
    assert operator.child.stop() == 0


BROKEN_SPECS: list[Any] = [
    None,
    7,
    {},
    {"pytorchReplicaSpecs": []},
    {"pytorchReplicaSpecs": {"Worker": 5}},
    {"pytorchReplicaSpecs": {"Worker": {"replicas": "many"}}},
    {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"containers": "none"}}}}},
    {"pytorchReplicaSpecs": {"Worker": {"template": []}}, "runPolicy": {"backoffLimit": 1.5}},
]


async def _stored(jobs: Namespace, name: str, spec: Any) -> bool:
    """Whether the server, once it has noticed the other schema, takes the object."""
    body = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}
    try:
        await jobs.create(body)
    except ApiError as error:
        assert error.status == 422, error
        return False
    return True


@pytest.mark.usefixtures("operator")
class TestLargeObjects:
    """The server bears 1.5 MiB per object and 3 MiB per request."""

    async def test_a_job_near_the_limit_runs(self, jobs: Namespace) -> None:
        await jobs.run_to_success(job("large", Master=1, arguments=("x" * (MEBIBYTE + MEBIBYTE // 4),)))

    async def test_a_job_beyond_the_limit_is_rejected(self, jobs: Namespace) -> None:
        with pytest.raises(ApiError) as rejected:
            await jobs.create(job("huge", Master=1, arguments=("x" * 10 * MEBIBYTE,)))
        assert rejected.value.status == 413
        assert "limit is 3145728" in rejected.value.message
        await jobs.run_to_success(job("next", Master=1))
