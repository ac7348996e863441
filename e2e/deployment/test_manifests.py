"""What the overlays render to, judged by a real API server and by the rules for restricted pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.deployment.installation import (
    ACCOUNT,
    DEPLOY,
    LEASE,
    OVERLAYS,
    Object,
    combined,
    namespace_of,
    of_kind,
    render,
)
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.support import marks
from e2e.support.profiles import often

pytestmark = marks.real  # the embedded API server has no deployments

REMOVAL = DEPLOY / "removal"
ONE_NAMESPACE = "one-namespace"
NARROW = {ONE_NAMESPACE, "mpi-ssh"}
"""Components for an operator of one namespace alone."""
COMPONENTS = sorted({folder.name for folder in (DEPLOY / "components").iterdir()} - NARROW)
"""Those that go with every overlay."""
TOGETHER = [name for name in COMPONENTS if name != "no-mpi"]
"""Those of them that go with each other."""


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request: pytest.FixtureRequest, cluster: Cluster) -> list[Object]:
    return render(cluster, DEPLOY / "overlays" / request.param)


@pytest.fixture(scope="module", params=OVERLAYS)
def extended(request: pytest.FixtureRequest, cluster: Cluster) -> list[Object]:
    """An overlay with all components that go together, and with monitoring."""
    return combined(cluster, request.param, [*TOGETHER, "../monitoring"])


def judged(cluster: Cluster, objects: list[Object], namespace: str, *flags: str) -> list[str]:
    """What the API server says of objects, each in a line; it wants to know their namespace."""
    cluster.send("apply", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return cluster.send("apply", *objects, options=["--dry-run=server", *flags]).splitlines()


@pytest.mark.parametrize("mode", often(["client", "server"], "server"))
def test_the_api_server_takes_every_object(cluster: Cluster, objects: list[Object], mode: str) -> None:
    flags = ("--server-side", "--force-conflicts") if mode == "server" else ()
    assert len(judged(cluster, objects, namespace_of(objects), *flags)) == len(objects)


@pytest.mark.shows("E-147")
def test_names_and_labels_are_v1_s(objects: list[Object]) -> None:
    deployment = of_kind(objects, "Deployment")[ACCOUNT]
    selector = {"control-plane": "kubeflow-training-operator"}
    assert deployment["spec"]["selector"]["matchLabels"] == selector
    assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    service = of_kind(objects, "Service")[ACCOUNT]
    assert service["spec"]["selector"] == selector
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("monitoring-port", 8080)]
    for kind in ("Service", "ServiceAccount"):
        assert of_kind(objects, kind)[ACCOUNT]["metadata"]["labels"]["app"] == ACCOUNT
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["command"]) == (ACCOUNT, ["/manager"])


@pytest.mark.shows("K-53")
def test_the_pods_are_restricted(objects: list[Object]) -> None:
    spec = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "cpu" not in container["resources"]["limits"]


def test_a_new_pod_takes_part_as_soon_as_it_is_ready(objects: list[Object]) -> None:
    (container,) = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"]
    assert container["startupProbe"]["httpGet"] == container["readinessProbe"]["httpGet"]
    assert container["startupProbe"]["periodSeconds"] == 1


@pytest.mark.shows("K-53")
def test_no_right_is_a_wildcard_or_reads_secrets(objects: list[Object]) -> None:
    rules: list[dict[str, Any]] = [rule for each in objects for rule in each.get("rules") or ()]
    assert rules
    for rule in rules:
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        assert "secrets" not in rule["resources"]


def test_an_operator_of_one_namespace_has_no_right_beyond_it(cluster: Cluster) -> None:
    objects = render(cluster, DEPLOY / "overlays" / "namespaced")
    assert not {"ClusterRole", "ClusterRoleBinding"} & {each["kind"] for each in objects}
    (container,) = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"]
    assert "--namespace=$(MY_POD_NAMESPACE)" in container["args"]
    for binding in of_kind(objects, "RoleBinding").values():
        assert binding["roleRef"]["kind"] == "Role"


GRANTING = {"mpi-ssh": "mpi-ssh", "mpi-ssh-all-namespaces": "mpi-ssh", "scheduler-plugins": "", "volcano": ""}
"""Components whose rights follow the overlay, with the name of the role where it is not theirs."""
CLUSTER_WIDE = {"lost-nodes": "nodes are in no namespace", "priority-class": "nor are priority classes"}


@pytest.mark.parametrize(
    ("components", "namespace"),
    [
        (["mpi-ssh"], ""),
        (["mpi-ssh"], "elsewhere"),
        ([*CLUSTER_WIDE, "mpi-ssh-all-namespaces", "scheduler-plugins", "volcano"], "elsewhere"),
        (["mpi-ssh", "scheduler-plugins", "volcano", *CLUSTER_WIDE, ONE_NAMESPACE], ""),
    ],
    ids=str,
)
def test_components_keep_to_one_namespace_too(cluster: Cluster, components: list[str], namespace: str) -> None:
    objects = combined(cluster, "namespaced", components, namespace)
    wide = {each["metadata"]["name"] for each in objects if each["kind"].startswith("ClusterRole")}
    assert wide == {f"{ACCOUNT}-{name}" for name in CLUSTER_WIDE if name in components}
    for name in GRANTING.keys() & {*components}:
        named = f"{ACCOUNT}-{GRANTING[name] or name}"
        role, binding = (of_kind(objects, kind)[named] for kind in ("Role", "RoleBinding"))
        assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == namespace_of(objects)
        assert binding["roleRef"]["kind"] == "Role"


def test_of_all_combinations_only_an_operator_of_all_namespaces_makes_secrets_in_all(extended: list[Object]) -> None:
    kinds = {each["kind"] for each in extended for rule in each.get("rules") or () if "secrets" in rule["resources"]}
    namespaced = not of_kind(extended, "ClusterRole").get(ACCOUNT)
    assert kinds == {"Role" if namespaced else "ClusterRole"}


@pytest.mark.parametrize("components", [["mpi-ssh"], ["mpi-ssh-all-namespaces", ONE_NAMESPACE]], ids=str)
@pytest.mark.parametrize("overlay", ["kubeflow", "standalone"])
def test_rights_of_one_namespace_for_an_operator_of_all_are_refused(
    cluster: Cluster, overlay: str, components: list[str]
) -> None:
    """No subject gets permission to create secrets in all namespaces without having named that."""
    with pytest.raises(HarnessError, match="one-namespace': error in test for path"):
        combined(cluster, overlay, components)


def test_an_operator_of_all_namespaces_may_make_secrets_in_one(cluster: Cluster) -> None:
    role, binding = objects = render(cluster, DEPLOY / "mpi-ssh-namespace")
    component = of_kind(combined(cluster, "namespaced", ["mpi-ssh"]), "Role")[role["metadata"]["name"]]
    assert role["rules"] == component["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
    assert [each["kind"] for each in objects] == ["Role", "RoleBinding"]
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] != "kubeflow"
    operator = namespace_of(render(cluster, DEPLOY / "overlays" / "standalone"))
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": operator}]


def test_no_overlay_brings_a_priority_class(objects: list[Object]) -> None:
    """Every pod of every namespace could have it: only component `priority-class` does, with what keeps others off."""
    assert of_kind(objects, "PriorityClass") == {}
    assert "priorityClassName" not in of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]


@pytest.mark.shows("K-53")
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_without_mpi_nobody_may_enter_pods_or_write_roles(cluster: Cluster, overlay: str) -> None:
    objects = combined(cluster, overlay, ["mpi-ssh-all-namespaces", "no-mpi"])
    resources = {resource for each in objects for rule in each.get("rules") or () for resource in rule["resources"]}
    assert not resources & {"pods/exec", "roles", "rolebindings", "configmaps", "serviceaccounts", "secrets"}
    (container,) = of_kind(objects, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"]
    assert [arg for arg in container["args"] if arg.startswith("--enable-scheme=")]
    assert "--enable-scheme=mpijob" not in container["args"]


@pytest.mark.parametrize("components", often([*([each] for each in COMPONENTS), TOGETHER], TOGETHER))
def test_the_api_server_takes_every_component(cluster: Cluster, components: list[str]) -> None:
    plain = render(cluster, DEPLOY / "overlays" / "standalone")
    before = ["console"] if components == ["console-proxy"] else []
    changed = [each for each in combined(cluster, "standalone", [*before, *components]) if each not in plain]
    assert len(judged(cluster, changed, namespace_of(plain))) == len(changed) > 0


def test_the_network_policy_is_for_the_operator_s_pods_and_ports(extended: list[Object]) -> None:
    policy = of_kind(extended, "NetworkPolicy")[ACCOUNT]
    deployment = of_kind(extended, "Deployment")[ACCOUNT]
    assert policy["metadata"]["namespace"] == deployment["metadata"]["namespace"]
    # Jobs' pods do not have this label, whatever namespace they are in.
    assert policy["spec"]["podSelector"] == deployment["spec"]["selector"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (let_in,) = policy["spec"]["ingress"]
    assert {port["port"] for port in let_in["ports"]} == {port["containerPort"] for port in container["ports"]}


def test_monitoring_finds_the_service_where_it_is(extended: list[Object]) -> None:
    kinds = ("ServiceMonitor", "PrometheusRule", "ConfigMap")
    [[monitor], [rules], [dashboard]] = (of_kind(extended, kind).values() for kind in kinds)
    assert {each["metadata"]["namespace"] for each in (monitor, rules, dashboard)} == {namespace_of(extended)}
    assert dashboard["metadata"]["labels"] == {"grafana_dashboard": "1"}
    assert json.loads(dashboard["data"]["training-operator.json"])["uid"] == "training-operator"
    service, found = of_kind(extended, "Service")[ACCOUNT], monitor["spec"]
    assert found["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][found["jobLabel"]] == "training-operator"
    assert found["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_kueue_sees_mpi_jobs_in_the_version_that_it_knows(extended: list[Object]) -> None:
    definition = of_kind(extended, "CustomResourceDefinition")["mpijobs.kubeflow.org"]
    ours, theirs = definition["spec"]["versions"]
    assert (ours["name"], ours["storage"], theirs["name"], theirs["storage"]) == ("v1", True, "v2beta1", False)
    assert ours["schema"] == theirs["schema"]


def test_a_removal_takes_everything_but_definitions_and_namespace_and_the_lease_at_last(cluster: Cluster) -> None:
    def names(objects: list[Object]) -> list[tuple[str, str]]:
        return [(each["kind"], each["metadata"]["name"]) for each in objects]

    installed, removed = names(render(cluster, DEPLOY / "overlays" / "standalone")), names(render(cluster, REMOVAL))
    assert {kind for kind, _ in set(installed) - set(removed)} == {"CustomResourceDefinition", "Namespace"}
    # While it has its rights, the operator would make the lease again.
    assert removed[-1] == ("Lease", LEASE)
    assert set(removed[:-1]) < set(installed)


def test_keys_of_mpi_jobs_without_mpi_are_refused(cluster: Cluster) -> None:
    with pytest.raises(HarnessError, match=r"no matches for Id ClusterRole.*training-operator-mpi"):
        combined(cluster, "namespaced", ["no-mpi", "mpi-ssh"])


def test_two_overlays_at_once_are_refused(cluster: Cluster) -> None:
    with pytest.raises(HarnessError, match="already registered id"):
        combined(cluster, "standalone", [], others=["namespaced"])


def all_rights_go_to_the_account(objects: list[Object]) -> None:
    bindings = [each for each in objects if each["kind"].endswith("RoleBinding")]
    subjects = [subject for each in bindings for subject in each["subjects"]]
    console = {"kind": "ServiceAccount", "name": "training-console", "namespace": namespace_of(objects)}
    assert subjects.count(console) == 1
    account = {**console, "name": ACCOUNT}
    assert subjects.count(account) == len(subjects) - 1 == 3 + 5, subjects


def test_all_rights_go_to_the_account(extended: list[Object]) -> None:
    all_rights_go_to_the_account(extended)


ELSEWHERE = "elsewhere"
CASES = [
    *((overlay, "", ELSEWHERE) for overlay in OVERLAYS),
    *(("namespaced", ONE_NAMESPACE, to) for to in ("", ELSEWHERE)),
]
"""Overlays, the component that comes last, and the namespace that they are moved to."""


@pytest.mark.parametrize("case", often(CASES, CASES[-1]))
def test_all_rights_go_to_the_account_where_it_is_moved_to(cluster: Cluster, case: tuple[str, str, str]) -> None:
    overlay, last, namespace = case
    objects = combined(cluster, overlay, [*TOGETHER, *filter(None, [last])], namespace)
    all_rights_go_to_the_account(objects)
    assert namespace in ("", namespace_of(objects))
