import random
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from e2e.support.paths import ROOT
from structlog.testing import capture_logs
from unit_tests.operator.scripted_api import ScriptedApi, rejection

from training_operator.kube.client import KubeClient
from training_operator.kube.errors import Forbidden
from training_operator.kube.flow import FairGate
from training_operator.kube.permissions import MissingPermissions, Permission, missing_permission
from training_operator.kube.resources import PODS
from training_operator.manifests import roles

DEPLOY = ROOT / "deploy"
PODS_DENIED = (
    'pods is forbidden: User "system:serviceaccount:kubeflow:training-operator" cannot create resource "pods" in API '
    'group "" in the namespace "team"'
)
GRANT_DENIED = (
    'roles.rbac.authorization.k8s.io "m-launcher" is forbidden: user "x" (groups=["system:authenticated"]) is '
    'attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods/exec"], '
    'ResourceNames:["m-worker-0" "m-worker-1"], Verbs:["create"]}'
)


def manifests() -> dict[Path, list[dict[str, Any]]]:
    """The rules of every manifest of the operator's own roles."""
    files = [
        *(DEPLOY / "base").glob("permissions*.yaml"),
        *(DEPLOY / "components").glob("*/rbac.yaml"),
        DEPLOY / "mpi-ssh-namespace" / "rbac.yaml",
    ]
    return {
        file: [rule for each in yaml.load_all(file.read_text(), yaml.CSafeLoader) for rule in each.get("rules") or ()]
        for file in files
    }


@pytest.mark.parametrize(("file", "rules"), manifests().items(), ids=lambda each: getattr(each, "name", ""))
def test_what_is_to_be_applied_grants_the_permission(file: Path, rules: list[dict[str, Any]]) -> None:
    assert rules
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                named = Permission(rule["verbs"][0], resource, group).manifest
                path = file.relative_to(DEPLOY.parent)
                applied = (str(path), str(path.parent), str(path.parent).removesuffix("-all-namespaces"))
                assert any(part in applied for part in named.split(" or ")), (resource, named)


def allowed(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_roles_of_the_six_kinds_are_those_that_their_declarations_need() -> None:
    written = manifests()
    base = [*written[DEPLOY / "base" / "permissions.yaml"], *written[DEPLOY / "base" / "permissions-mpi.yaml"]]
    role, binding = roles((), "team")
    assert allowed(role["rules"]) == allowed(base)
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "training-operator", "namespace": "team"}]


@pytest.mark.parametrize(
    ("rejection", "permission"),
    [
        (PODS_DENIED, Permission("create", "pods", "")),
        (
            'jaxjobs.kubeflow.org "a" is forbidden: User "x" cannot patch resource "jaxjobs/status" in API group '
            '"kubeflow.org" in the namespace "team"',
            Permission("patch", "jaxjobs/status", "kubeflow.org"),
        ),
        (GRANT_DENIED, Permission("create", "pods/exec", "")),
        (
            GRANT_DENIED.replace('ResourceNames:["m-worker-0" "m-worker-1"], ', ""),
            Permission("create", "pods/exec", ""),
        ),
        ('pods "a-worker-0" is forbidden: exceeded quota: pods, requested: count/pods=1', None),
        ('pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false', None),
    ],
)
def test_which_permission_is_missing(rejection: str, permission: Permission | None) -> None:
    assert missing_permission(rejection) == permission


def test_each_missing_permission_is_logged_once() -> None:
    with capture_logs() as logs:
        permissions = MissingPermissions(structlog.get_logger())
        assert [permissions.denied(text) for text in (PODS_DENIED, GRANT_DENIED, PODS_DENIED, "quota")] == [
            True,
            True,
            True,
            False,
        ]
    assert [(line["verb"], line["resource"], line["apply"]) for line in logs] == [
        ("create", "pods", "deploy/base/permissions.yaml"),
        ("create", "pods/exec", "deploy/base/permissions-mpi.yaml"),
    ]


@pytest.mark.virtual_time
async def test_a_rejected_request_logs_what_to_apply_and_goes_on_being_rejected() -> None:
    client = KubeClient(ScriptedApi([rejection(403, "Forbidden", PODS_DENIED)] * 4, ()), FairGate(), random.Random(1))
    with capture_logs() as logs:
        with pytest.raises(Forbidden):
            await client.delete_listed(PODS, "team", selector="a=b", version="1")
        assert logs == [], "they are deleted one by one then"
        for _ in range(3):
            with pytest.raises(Forbidden):
                await client.create(PODS, "team", {"metadata": {"name": "a"}})
    assert [line["event"] for line in logs] == ["a permission is missing: retrying until it is granted"]
