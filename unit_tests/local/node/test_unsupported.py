"""No field of a pod is silently without effect."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from e2e.support.local_node import Cluster, pod

from training_api.printable import LIMIT
from training_local.apiserver.builtin.schemas import component_schemas
from training_local.node.podspec import parse_pod
from training_local.node.unsupported import FIELDS, ignored, messages, rejection

CORE = "io.k8s.api.core.v1."
NAMES = {"ResourcesOfThePod": "ResourceRequirements"}


@pytest.mark.parametrize("component", FIELDS)
def test_every_field_of_the_api_is_known(component: str) -> None:
    schema = component_schemas()[CORE + NAMES.get(component, component)]
    assert set(FIELDS[component]) == set(schema["properties"])


def said(
    spec: dict[str, Any], container: dict[str, Any] | None = None, mode: str = "netns", user: int = 7
) -> list[str]:
    metadata = {"name": "p", "namespace": "n", "uid": "u"}
    main = {"name": "main", "image": "x", **(container or {})}
    return list(ignored(parse_pod({"metadata": metadata, "spec": {"containers": [main], **spec}}), mode, user))


OF_PODS: list[tuple[dict[str, Any], str]] = [
    ({"hostNetwork": True}, "hostNetwork of the pod has no effect: the pod has a network of its own"),
    ({"hostPID": True}, "hostPID of the pod has no effect"),
    ({"hostIPC": True}, "hostIPC of the pod has no effect"),
    ({"hostUsers": False}, ""),
    ({"imagePullSecrets": [{"name": "s"}]}, "imagePullSecrets of the pod has no effect: images are not pulled"),
    ({"serviceAccountName": "trainer"}, ""),
    ({"serviceAccountName": "default"}, ""),
    ({"automountServiceAccountToken": True}, ""),
    ({"automountServiceAccountToken": False}, ""),
    ({"dnsPolicy": "ClusterFirst"}, ""),
    ({"dnsPolicy": "None"}, "dnsPolicy None of the pod has no effect: names are resolved by a file"),
    ({"dnsConfig": {"nameservers": ["1.2.3.4"]}}, "dnsConfig of the pod"),
    ({"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]}, ""),
    ({"runtimeClassName": "gvisor"}, "runtimeClassName gvisor of the pod has no effect: containers are processes"),
    ({"schedulerName": "default-scheduler"}, ""),
    ({"schedulerName": "volcano"}, "there is no scheduler volcano here: the local node's own places the pod"),
    ({"affinity": {"nodeAffinity": {}, "podAntiAffinity": {"x": []}}}, "podAntiAffinity of the pod has no effect"),
    ({"topologySpreadConstraints": [{"maxSkew": 1}]}, ""),
    ({"setHostnameAsFQDN": True}, "setHostnameAsFQDN of the pod"),
    ({"readinessGates": [{"conditionType": "a"}]}, "readinessGates of the pod"),
    ({"securityContext": {}}, ""),
    ({"securityContext": {"runAsUser": 7, "runAsNonRoot": True}}, ""),
    ({"securityContext": {"runAsUser": 0}}, "runAsUser 0 of the pod has no effect: processes run as user 7"),
    ({"securityContext": {"runAsGroup": 0}}, "runAsGroup 0 of the pod has no effect"),
    ({"securityContext": {"fsGroup": 2000}}, "fsGroup 2000 of the pod has no effect: processes keep the groups"),
    ({"securityContext": {"sysctls": [{"name": "a"}]}}, "sysctls of the pod"),
    ({"volumes": [{"name": "v", "emptyDir": {}}]}, ""),
    ({"volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]}, ""),
    ({"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]}, ""),
    ({"resources": {"limits": {"cpu": "1"}}}, "limits of the pod has no effect"),
]
OF_CONTAINERS: list[tuple[dict[str, Any], str]] = [
    ({"imagePullPolicy": "Always"}, ""),
    ({"ports": [{"containerPort": 80, "hostPort": 80}]}, "hostPort 80 of container main is not opened"),
    ({"stdin": True}, "stdin of container main has no effect"),
    ({"tty": True}, "tty of container main has no effect"),
    ({"securityContext": {"privileged": True}}, "privileged of container main has no effect"),
    ({"securityContext": {"privileged": False, "allowPrivilegeEscalation": False}}, ""),
    ({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}, "capabilities of container main has no effect"),
    ({"securityContext": {"seccompProfile": {"type": "Localhost"}}}, "seccompProfile of container main"),
    ({"securityContext": {"readOnlyRootFilesystem": True}}, "readOnlyRootFilesystem of container main"),
    ({"resources": {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}}, ""),
    ({"resources": {"limits": {"ephemeral-storage": "1Gi"}}}, ""),
    ({"resources": {"limits": {"hugepages-2Mi": "1Gi"}}}, "the limit of hugepages-2Mi of container main"),
    ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, ""),
    (
        {"volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]},
        "mountPropagation Bidirectional of",
    ),
    ({"livenessProbe": {"exec": {"command": ["true"]}}}, ""),
]


@pytest.mark.parametrize(("spec", "sentence"), OF_PODS)
def test_fields_of_pods(spec: dict[str, Any], sentence: str) -> None:
    found = said(spec)
    assert [each.startswith(sentence) for each in found] == ([True] if sentence else []), found


@pytest.mark.parametrize(("container", "sentence"), OF_CONTAINERS)
def test_fields_of_containers(container: dict[str, Any], sentence: str) -> None:
    found = said({}, container)
    assert [each.startswith(sentence) for each in found] == ([True] if sentence else []), found


def test_host_mode_shares_what_the_machine_has() -> None:
    assert said({"hostNetwork": True, "hostPID": True, "hostIPC": True}, mode="host") == []
    assert said({"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]}, mode="host")
    assert said({"securityContext": {"runAsNonRoot": True}}, user=0)


@pytest.mark.parametrize(
    ("spec", "container", "sentence"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, {}, "resourceClaims cannot be fulfilled"),
        ({}, {"volumeDevices": [{"name": "v"}]}, "volumeDevices of container main cannot be given"),
        ({}, {}, ""),
    ],
)
def test_what_cannot_start(spec: dict[str, Any], container: dict[str, Any], sentence: str) -> None:
    metadata = {"name": "p", "namespace": "n", "uid": "u"}
    body = {"metadata": metadata, "spec": {"containers": [{"name": "main", **container}], **spec}}
    found = rejection(parse_pod(body))
    assert found.startswith(sentence)
    assert bool(found) == bool(sentence)


def test_nothing_is_cut_off() -> None:
    sentences = [f"field {number} has no effect" for number in range(100)]
    found = list(messages(sentences))
    assert len(found) == 3
    assert all(len(message) <= LIMIT for message in found)
    assert "; ".join(found).split("; ") == sentences
    assert list(messages([])) == []


async def test_one_warning_says_what_has_no_effect(on_host: Cluster) -> None:
    body = pod("odd", "true", restartPolicy="Never", runtimeClassName="kata", schedulerName="volcano")
    await on_host.api.create("pods", body)
    await on_host.api.ended("odd")
    warnings = [event for event in on_host.api.events if event[2] == "Unsupported"]
    sentence = (
        "runtimeClassName kata of the pod has no effect: containers are processes of this machine; "
        "there is no scheduler volcano here: the local node's own places the pod"
    )
    assert warnings == [("odd", "Warning", "Unsupported", sentence)]


async def test_a_host_port_that_the_machine_has_taken(on_host: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        port = {"ports": [{"containerPort": number, "hostPort": number, "hostIP": "127.0.0.1"}]}
        await on_host.api.create("pods", pod("server", "true", container=port))
        sentence = f"hostPort {number} of container main is taken by a program of this machine"
        await on_host.api.until(lambda: any(sentence in event[3] for event in on_host.api.events))
        assert on_host.api.phase("server") == "Pending"
    await on_host.api.ended("server")
