"""What a tenant may send: every verb that he has, with every kind of object that the operator reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS
from hypothesis import strategies as st

from training_api.constants import API_VERSION, JOB_NAME_LABEL, OPERATOR_NAME_LABEL, REPLICA_INDEX_LABEL
from training_api.constants import REPLICA_TYPE_LABEL as TYPE_LABEL
from training_api.registry import KINDS

Object = dict[str, Any]
Strategy = st.SearchStrategy[Any]

PATHS: Final[Mapping[str, str]] = {
    **dict.fromkeys(PLURALS.values(), f"/apis/{API_VERSION}"),
    **dict.fromkeys(("pods", "services", "configmaps", "serviceaccounts", "secrets", "events"), "/api/v1"),
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "leases": "/apis/coordination.k8s.io/v1",
}
"""Where each resource lies that the operator's roles name, or a component's."""
KIND_OF: Final = {plural: kind for kind, plural in PLURALS.items()}
VERBS: Final = ("create", "patch", "update", "delete", "deletecollection")
ANY: Final = "*"
"""In the place of a resource: whatever there is in the namespace."""
NODE: Final = "node"
"""The actor that is no tenant: it moves pods through their phases."""
JOBS: Final = ("x", "db", "vic", "ci")
"""Few names, so that jobs of different kinds meet, and meet what others have made (`tenants.py`)."""
SUFFIXES: Final = ("-master-0", "-worker-0", "-worker-1", "-launcher", "-config", "-chief-0", "-worker", "")
HOLD: Final = "example.com/hold"


@dataclass(frozen=True, slots=True)
class Owner:
    """A job to be named as owner; its uid is looked up when the step is played."""

    where: str
    """Whose namespace it is in: `a`, `b`, or `c` of the one who does nothing."""
    kind: str
    name: str
    controls: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One request; a name that is a number means one of the objects that are there."""

    actor: str
    verb: str
    resource: str
    name: str = ""
    body: Object = field(default_factory=dict)
    owners: tuple[Owner, ...] | None = None
    """The owner references to be set; None leaves them alone."""


NUMBERS: Final = (*(1, 1, 2, 2, 3) * 3, 0, -1, 2**31 - 1)
NAMES = st.builds("{}{}".format, st.sampled_from(JOBS), st.sampled_from(SUFFIXES))
LABELS = st.fixed_dictionaries(
    {},
    optional={
        JOB_NAME_LABEL: st.sampled_from(JOBS),
        OPERATOR_NAME_LABEL: st.sampled_from([info.controller_name for info in KINDS.values()]),
        TYPE_LABEL: st.sampled_from(["master", "worker", "launcher", "Worker", "no-type"]),
        REPLICA_INDEX_LABEL: st.sampled_from(["0", "1", "00", "9999999999", "x"]),
        "app": st.sampled_from(JOBS),
    },
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "extension.training.kubeflow.org/restart-scope": st.sampled_from(["job", "pod", "\x1b[2J", "x" * 5000]),
        "extension.training.kubeflow.org/restarts": st.sampled_from(["1", "-5", "9" * 30, "x"]),
        "extension.training.kubeflow.org/backoff-level": st.sampled_from(["3", "99999999", "nan"]),
        "extension.training.kubeflow.org/attempt": st.sampled_from(["1", "-1", "2147483648"]),
        "extension.training.kubeflow.org/disruptions": st.sampled_from(["fail", "count", ""]),
        "example.com/large": st.just("x" * 20_000),
    },
)
OWNERS = st.lists(
    st.builds(Owner, st.sampled_from("abc"), st.sampled_from([*PLURALS]), st.sampled_from(JOBS), st.booleans()),
    max_size=2,
).map(tuple)
META: Strategy = st.fixed_dictionaries(
    {},
    optional={
        "labels": LABELS,
        "annotations": ANNOTATIONS,
        "finalizers": st.sampled_from([[], [HOLD], ["foregroundDeletion"], ["orphan"]]),
    },
)
POD: Object = {"containers": [{"name": "main", "image": "example.com/other:1"}], "schedulerName": "nobody"}
POD_SPECS = st.just(POD) | st.just({**POD, "serviceAccountName": "ci"})


@st.composite
def templates(draw: st.DrawFn, kind: str) -> Object:
    """A pod template that says more than it may, now and then."""
    name = draw(st.sampled_from([CONTAINERS[kind]] * 9 + ["main"]))
    image = draw(st.sampled_from(["example.com/train:1"] * 9 + [""]))
    spec: Object = {"schedulerName": "nobody", "containers": [{"name": name, "image": image}]}
    spec |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "serviceAccountName": st.sampled_from(["ci", "tenant", "default", "x-launcher"]),
                "restartPolicy": st.sampled_from(["Always", "Never"]),
                "hostNetwork": st.booleans(),
                "nodeName": st.just("no-such-node"),
                "priorityClassName": st.sampled_from(["training-operator", "system-cluster-critical"]),
            },
        )
    )
    return {"metadata": draw(META), "spec": spec}


@st.composite
def job_specs(draw: st.DrawFn, kind: str) -> Object:
    """A spec of a kind; some are rejected."""
    info = KINDS[kind]
    types = {*info.required_types, *draw(st.sets(st.sampled_from(info.replica_types), min_size=1, max_size=2))}
    numbers = {name: st.just(1) if name in info.single_types else st.sampled_from(NUMBERS) for name in types}
    policies = st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])
    replicas = {
        name: draw(
            st.fixed_dictionaries(
                {"template": templates(kind), "replicas": numbers[name]}, optional={"restartPolicy": policies}
            )
        )
        for name in sorted(types)
    }
    policy = st.fixed_dictionaries(
        {},
        optional={
            "suspend": st.booleans(),
            "cleanPodPolicy": st.sampled_from(["All", "Running", "None"]),
            "ttlSecondsAfterFinished": st.sampled_from([0, 1, -1, 2**31 - 1]),
            "activeDeadlineSeconds": st.sampled_from([1, 0, -1, 2**62]),
            "backoffLimit": st.sampled_from([0, 1, -1]),
            "managedBy": st.sampled_from(["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"]),
        },
    )
    spec: Object = {REPLICAS[kind]: replicas, "runPolicy": draw(policy)}
    if kind == "PyTorchJob" and "Worker" in types and draw(st.booleans()):
        spec["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": draw(st.sampled_from([1, 3, 2**31 - 1]))}
    return spec


_SCALED = {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}
_RULE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
CONTENTS: Final[Mapping[str, Strategy]] = {
    **{plural: st.fixed_dictionaries({"spec": job_specs(kind)}) for plural, kind in KIND_OF.items()},
    "pods": st.fixed_dictionaries({"spec": POD_SPECS}),
    "services": st.just({"spec": {"clusterIP": "None", "selector": {"app": "x"}, "ports": [{"port": 1}]}}),
    "configmaps": st.just({"data": {"kubexec.sh": "#!/bin/sh\necho taken", "hostfile": "elsewhere"}}),
    "secrets": st.just({"stringData": {"id_rsa": "taken"}}),
    "serviceaccounts": st.just({}),
    "events": st.just({"reason": "Forged", "message": "\x1b[2J" + "x" * 1000, "type": "Normal"}),
    "horizontalpodautoscalers": st.just({"spec": {"maxReplicas": 2, "scaleTargetRef": _SCALED}}),
    "roles": st.just({"rules": [_RULE]}),
    "rolebindings": st.just({"roleRef": _ROLE_REF, "subjects": [{"kind": "ServiceAccount", "name": "tenant"}]}),
    "leases": st.just({"spec": {"holderIdentity": "tenant", "leaseDurationSeconds": 100000}}),
}


@st.composite
def requests(draw: st.DrawFn, verb: str = "", resource: str = "") -> Step:
    """A request of a tenant."""
    actor, verb = draw(st.sampled_from("aaab")), verb or draw(st.sampled_from(["create", *VERBS[:4] * 4, *VERBS]))
    resource = resource or draw(st.sampled_from([*PLURALS.values(), "mpijobs", "pods", *PATHS]))
    if verb == "deletecollection":
        return Step(actor, verb, resource)
    name = draw(st.sampled_from(JOBS) if resource in KIND_OF else NAMES)
    if verb != "create" and draw(st.integers(0, 3)):
        name = str(draw(st.integers(0, 9)))
    if verb in ("patch", "delete") and draw(st.booleans()):
        resource, name = ANY, str(draw(st.integers(0, 40)))
    if verb == "delete":
        policy = draw(st.sampled_from(["Background", "Foreground", "Orphan"]))
        return Step(actor, verb, resource, name, {"propagationPolicy": policy})
    meta = draw(META)
    whole = verb != "patch" or (resource != ANY and draw(st.integers(0, 2)) == 0)
    content = draw(CONTENTS[resource]) if whole else {}
    return Step(actor, verb, resource, name, {"metadata": meta, **content}, draw(OWNERS | st.none()))


@st.composite
def endings(draw: st.DrawFn) -> Step:
    """A pod that comes up or ends: what a kubelet would write of it, with words of the tenant's program."""
    message = draw(st.sampled_from(["", "no such file", "\x1b[2J\x00\u202e" + "x" * 4000]))
    code = draw(st.sampled_from([0, 1, 137, 255, -1]))
    ended = {"exitCode": code, "message": message, "reason": "Error"}
    state = draw(st.sampled_from([{"running": {}}, {"terminated": ended}, {"waiting": {"reason": "ImagePullBackOff"}}]))
    container = {"name": draw(st.sampled_from([*CONTAINERS.values(), "main"])), "image": "", "imageID": ""}
    restarts = draw(st.sampled_from([0, 3, 2**31 - 1]))
    status = {
        "phase": draw(st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])),
        "containerStatuses": [{**container, "ready": False, "restartCount": restarts, "state": state}],
    }
    return Step(NODE, "status", "pods", str(draw(st.integers(0, 9))), {"status": status})


def scripts(length: int) -> Strategy:
    """So many steps; the first ones make jobs, so that there is something to attack."""
    begin = st.tuples(*(requests("create", plural) for plural in [*PLURALS.values(), "mpijobs", "pytorchjobs"]))
    step = st.integers(0, 5).flatmap(lambda number: requests() if number else endings())
    rest = st.lists(step, min_size=length - 8, max_size=length - 8)
    return st.tuples(begin, rest).map(lambda parts: [*parts[0], *parts[1]])
