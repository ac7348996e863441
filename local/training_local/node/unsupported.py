"""What a pod asks for and does not get on the local node, in sentences, so that nothing is left out silently.

Every field of a pod's specification has an entry in `FIELDS`, which a test compares with the API's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from training_api.printable import LIMIT
from training_local.node.podspec import Pod, Wire
from training_local.node.probes import ACTIONS, HOOK_ACTIONS, HOOKS


class Place(NamedTuple):
    """Where a field stands, and how the node runs pods."""

    owner: str
    """`the pod`, or `container NAME`, or `volume NAME`."""
    mode: str
    """`netns` or `host`."""
    user: int
    """The user id that every process has."""


Check = Callable[[str, Any, Place], Iterator[str]]
"""Field, its value, its place -> sentences."""


def ignored(pod: Pod, mode: str, user: int) -> Iterator[str]:
    """One sentence per field without effect; `user` is the user id that every process has."""
    yield from _inside("PodSpec", pod.stored.get("spec") or {}, Place("the pod", mode, user))


def messages(sentences: Iterable[str], longest: int = LIMIT) -> Iterator[str]:
    """The sentences put together to as few messages as events can hold."""
    message = ""
    for sentence in sentences:
        if message and len(message) + len(sentence) + 2 > longest:
            yield message
            message = ""
        message = f"{message}; {sentence}" if message else sentence
    if message:
        yield message


def _inside(component: str, value: Wire, place: Place) -> Iterator[str]:
    for field, content in value.items():
        if check := FIELDS[component].get(field):
            yield from check(field, content, place)


def _works(_field: str, _value: Any, _place: Place) -> Iterator[str]:
    """The field does what it does in a cluster, or the difference does not show, or it is rejected elsewhere."""
    return iter(())


_rejected = _works
"""The field keeps the pod from starting, with a waiting reason: see `volumes`, `environment`, `rejection`."""


def _none(why: str, harmless: Collection[Any] = (), mode: str = "") -> Check:
    """The field has no effect, in one mode or in both; nothing is said where its value is harmless."""

    def check(field: str, value: Any, place: Place) -> Iterator[str]:
        empty = value is False or value in ("", {}, [])
        if not empty and value not in harmless and mode in ("", place.mode):
            shown = f" {value}" if isinstance(value, str | int) and not isinstance(value, bool) else ""
            yield f"{field}{shown} of {place.owner} has no effect: {why}"

    return check


def _part(component: str) -> Check:
    def check(_field: str, value: Any, place: Place) -> Iterator[str]:
        return _inside(component, value, place)

    return check


def _each(component: str, owner: str = "") -> Check:
    """A list of parts; `owner` is what one is called in sentences, if it has a name of its own."""

    def check(_field: str, value: Any, place: Place) -> Iterator[str]:
        for part in value:
            inner = place._replace(owner=f"{owner} {part['name']}") if owner else place
            yield from _inside(component, part, inner)

    return check


def _user(field: str, value: Any, place: Place) -> Iterator[str]:
    if value != place.user:
        yield f"{field} {value} of {place.owner} has no effect: processes run as user {place.user}"


def _not_root(field: str, value: Any, place: Place) -> Iterator[str]:
    if value and place.user == 0:
        yield f"{field} of {place.owner} has no effect: processes run as user 0"


def _host_port(_field: str, value: Any, place: Place) -> Iterator[str]:
    if value and place.mode != "host":
        yield f"hostPort {value} of {place.owner} is not opened on the machine"


def _probe(field: str, value: Any, place: Place) -> Iterator[str]:
    if not any(action in value for action in ACTIONS):
        yield f"{field} of {place.owner} is not run (only {', '.join(ACTIONS)} are): it counts as passed"


def _hooks(_field: str, value: Any, place: Place) -> Iterator[str]:
    for hook, action in value.items():
        if hook not in HOOKS or not any(known in action for known in HOOK_ACTIONS):
            yield f"lifecycle.{hook} of {place.owner} is not run"


def _scheduler(_field: str, value: Any, place: Place) -> Iterator[str]:
    if value not in ("", "default-scheduler"):
        yield f"there is no scheduler {value} here: the local node's own places {place.owner}"


def _limits(_field: str, value: Any, place: Place) -> Iterator[str]:
    for resource in value:
        if resource.startswith("hugepages-"):
            yield f"the limit of {resource} of {place.owner} is not enforced"


def _disk(_field: str, value: Any, place: Place) -> Iterator[str]:
    if value.get("medium", "") not in ("", "Memory"):
        yield f"medium {value['medium']} of {place.owner} has no effect: it is a folder on the disk"


def _all(fields: str, check: Check) -> Mapping[str, Check]:
    return dict.fromkeys(fields.split(), check)


_NO_IMAGE = "images are not pulled"
_NO_ROOT_POWERS = "processes have the privileges of the user who runs the cluster"
_ONE_MACHINE = "there is one machine only"
_NO_PROFILES = "security profiles are not loaded"

_PROBES_AND_HOOKS = {**_all("livenessProbe readinessProbe startupProbe", _probe), "lifecycle": _hooks}
_CONTEXTS = {
    **_all("appArmorProfile seLinuxOptions windowsOptions", _none(_NO_PROFILES)),
    "seccompProfile": _none(_NO_PROFILES, [{"type": "Unconfined"}]),
    "runAsUser": _user,
    "runAsGroup": _none("processes keep the groups of the user who runs the cluster"),
    "runAsNonRoot": _not_root,
}

FIELDS: Mapping[str, Mapping[str, Check]] = {
    "PodSpec": {
        **_all("activeDeadlineSeconds enableServiceLinks hostname nodeName nodeSelector overhead", _works),
        **_all("preemptionPolicy priority priorityClassName restartPolicy schedulingGates", _works),
        **_all("shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations", _works),
        # On one machine every spread is even, and nothing is left to prefer.
        "topologySpreadConstraints": _works,
        "affinity": _part("Affinity"),
        **_all("automountServiceAccountToken serviceAccountName", _works),
        "serviceAccount": _works,  # the old name, which the API server keeps equal to the new one
        "containers": _each("Container", "container"),
        "initContainers": _each("Container", "container"),
        "ephemeralContainers": _none("they are not started"),
        "dnsConfig": _none("names are resolved by a file"),
        "dnsPolicy": _none("names are resolved by a file", ["ClusterFirst", "ClusterFirstWithHostNet"]),
        "hostAliases": _none("the machine's own file of hosts is used", mode="host"),
        "hostIPC": _none("the pod has shared memory of its own", mode="netns"),
        "hostNetwork": _none("the pod has a network of its own", mode="netns"),
        "hostPID": _none("the pod has a process list of its own", mode="netns"),
        "hostUsers": _none("users are those of the machine"),
        **_all("hostnameOverride setHostnameAsFQDN", _none("the host name is the pod's name or hostname")),
        "imagePullSecrets": _none(_NO_IMAGE),
        "os": _none("processes run on this machine's system", [{"name": "linux"}]),
        "readinessGates": _none("the pod is ready when its containers are"),
        "resourceClaims": _rejected,
        "resources": _part("ResourcesOfThePod"),
        "runtimeClassName": _none("containers are processes of this machine"),
        "schedulerName": _scheduler,
        "securityContext": _part("PodSecurityContext"),
        "volumes": _each("Volume", "volume"),
    },
    "Affinity": {
        "nodeAffinity": _works,
        "podAffinity": _none(_ONE_MACHINE),
        "podAntiAffinity": _none(_ONE_MACHINE),
    },
    "ResourcesOfThePod": {
        "requests": _works,
        "limits": _none("containers are held to limits of their own only"),
        "claims": _rejected,
    },
    "PodSecurityContext": {
        **_CONTEXTS,
        **_all("fsGroup fsGroupChangePolicy supplementalGroups", _CONTEXTS["runAsGroup"]),
        "supplementalGroupsPolicy": _CONTEXTS["runAsGroup"],
        "seLinuxChangePolicy": _none(_NO_PROFILES),
        "sysctls": _none("kernel settings are the machine's"),
    },
    "Container": {
        **_all("args command env envFrom name restartPolicy restartPolicyRules workingDir", _works),
        **_all("terminationMessagePath terminationMessagePolicy resizePolicy", _works),
        # Every container has an image, and the API server sets the policy: the documentation says what that means.
        **_all("image imagePullPolicy", _works),
        **_PROBES_AND_HOOKS,
        "ports": _each("ContainerPort"),
        "resources": _part("ResourceRequirements"),
        "securityContext": _part("SecurityContext"),
        **_all("stdin stdinOnce tty", _none("nothing is connected to standard input")),
        "volumeDevices": _rejected,
        "volumeMounts": _each("VolumeMount"),
    },
    "ContainerPort": {**_all("containerPort hostIP name protocol", _works), "hostPort": _host_port},
    "ResourceRequirements": {"requests": _works, "limits": _limits, "claims": _rejected},
    "SecurityContext": {
        **_CONTEXTS,
        "allowPrivilegeEscalation": _none("no program raises its privileges", mode="netns"),
        "capabilities": _none(_NO_ROOT_POWERS),
        "privileged": _none(_NO_ROOT_POWERS),
        "procMount": _none(_NO_ROOT_POWERS, ["Default"]),
        "readOnlyRootFilesystem": _none("the machine's files can be written as its user may"),
    },
    "VolumeMount": {
        **_all("mountPath name readOnly subPath subPathExpr", _works),
        "mountPropagation": _none("mounts do not spread between pods and machine", ["None"]),
        "recursiveReadOnly": _none("mounts inside the volume stay as they are", ["Disabled"]),
    },
    "Volume": {
        **_all("configMap downwardAPI ephemeral hostPath name persistentVolumeClaim projected secret", _works),
        "emptyDir": _disk,
        **_all("awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker", _rejected),
        **_all("gcePersistentDisk gitRepo glusterfs image iscsi nfs photonPersistentDisk", _rejected),
        **_all("portworxVolume quobyte rbd scaleIO storageos vsphereVolume", _rejected),
    },
    "VolumeProjection": {
        **_all("configMap downwardAPI secret", _works),
        **_all("clusterTrustBundle podCertificate serviceAccountToken", _rejected),
    },
    "EnvVarSource": {**_all("configMapKeyRef fieldRef resourceFieldRef secretKeyRef", _works), "fileKeyRef": _rejected},
}
"""Component of the API -> field -> what is said about it. Parts of fields that work are not listed."""


def rejection(pod: Pod) -> str:
    """Why the pod cannot start here whatever is tried; empty if it can. Volumes and environment are looked at later."""
    spec = pod.stored.get("spec") or {}
    containers: Iterable[Wire] = [*(spec.get("initContainers") or ()), *spec["containers"]]
    if spec.get("resourceClaims"):
        return "resourceClaims cannot be fulfilled: the local node has no resource drivers"
    for container in containers:
        if container.get("volumeDevices"):
            return (
                f"volumeDevices of container {container['name']} cannot be given: the local node has no block volumes"
            )
    return ""
