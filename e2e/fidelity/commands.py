"""The sessions: what users type, in order. A namespace of its own belongs to each session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from e2e.support.objects import config_map, pod
from e2e.support.widgets import widget


@dataclass(frozen=True, slots=True)
class Step:
    """A command and what it gets."""

    command: str
    """Words for kubectl, separated by blanks; there is no quoting."""
    stdin: str = ""
    editor: str = ""
    """Program that `kubectl edit` starts, with its arguments."""
    fields_only: bool = False
    """Whether nothing but fields and their types count; the embedded server has no descriptions of builtin types."""
    meanwhile: Sequence[tuple[int, str]] = ()
    """What runs while this command does: after so many further lines of it, this. Then it is stopped."""


def _event(name: str, about: str) -> dict[str, Any]:
    when = "2024-01-02T03:04:05Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": about},
        "reason": "Spoke",
        "message": f"about {about}",
        "type": "Normal",
        "source": {"component": "fidelity"},
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 3,
    }


def _named(obj: dict[str, Any], name: str, **labels: str) -> dict[str, Any]:
    return {**obj, "metadata": {"name": name, "labels": labels}}


_REPLICA = {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "busybox:1"}]}}}
_JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "mnist"},
    "spec": {"pytorchReplicaSpecs": {"Master": _REPLICA, "Worker": _REPLICA}},
}
_BAD_JOB = {**_JOB, "metadata": {"name": "bad"}, "spec": {"pytorchReplicaSpecs": {"Chief": _REPLICA}}}
_RUNNING = '{"status":{"conditions":[{"type":"Running","status":"True","reason":"r","message":"m"}]}}'
_POD = pod("web", meta={"labels": {"app": "web"}})
_FILE = yaml.safe_dump_all([_POD, config_map("settings")])
_CHANGED = yaml.safe_dump_all([_POD, config_map("settings", {"b": "2"})])
_MANY = yaml.safe_dump_all(
    [_named(config_map("x"), name, order=str(number)) for number, name in enumerate(("cherry", "apple", "banana"))]
)
_OTHER = yaml.safe_dump(config_map("settings", {"a": "9"}))
_SETTINGS = yaml.safe_dump(config_map("settings", {"a": "1", "b": "2"}))
_LESS = yaml.safe_dump(config_map("settings", {"a": "3"}))
_OWNERS = "get configmap settings -o yaml --show-managed-fields"
_LARGER = {**_JOB, "spec": {"pytorchReplicaSpecs": {"Worker": {**_REPLICA, "replicas": 4}}}}
_PODS = yaml.safe_dump_all([_named(_POD, name, app=name[0]) for name in ("a1", "a2", "b1", "b2", "c1")])
_EVENTS = yaml.safe_dump_all([_POD, _event("one", "web"), _event("two", "other")])
_WIDGET = yaml.safe_dump(widget("wheel", replicas=2))
_TYPO = yaml.safe_dump(widget("bad", colour="red"))
_BROKEN = yaml.safe_dump(widget("bad", size=99))
_SED = "sed -i "

SESSIONS: Mapping[str, Sequence[Step]] = {
    "apply": (
        Step("apply -f -", _FILE),
        Step("apply -f -", _FILE),
        Step("apply -f -", _CHANGED),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("diff -f -", _FILE),
        Step("apply -f - --dry-run=server", _FILE),
        Step("delete -f -", _FILE),
        Step("delete -f -", _FILE),
    ),
    "apply_on_the_server": (
        Step("apply --server-side -f -", _FILE),
        Step("apply --server-side -f -", _FILE),
        Step(_OWNERS),
        Step("apply --server-side --field-manager=other -f -", _OTHER),
        Step("apply --server-side --field-manager=other --force-conflicts -f -", _OTHER),
        Step(_OWNERS),
        Step("diff --server-side -f -", _FILE),
        Step("diff --server-side --force-conflicts -f -", _FILE),
        Step("apply --server-side --force-conflicts --dry-run=server -f -", _FILE),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("apply -f -", _CHANGED),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("apply --server-side -f -", yaml.safe_dump({**config_map("settings"), "surprise": 1})),
        Step("apply --server-side --validate=ignore -f -", yaml.safe_dump({**config_map("settings"), "surprise": 1})),
        Step("delete -f -", _FILE),
    ),
    "move_to_the_server": (
        Step("apply -f -", _SETTINGS),
        Step(_OWNERS),
        Step("diff --server-side -f -", _LESS),
        Step("apply --server-side -f -", _LESS),
        Step(_OWNERS),
        Step("apply --server-side -f -", _SETTINGS),
        Step("apply view-last-applied configmap settings"),
        Step("apply -f -", _LESS),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("edit configmap settings", editor=_SED + "/^..a:/s/3/7/"),
        Step("apply --server-side -f -", _LESS),
    ),
    "jobs_on_the_server": (
        Step("apply --server-side -f -", yaml.safe_dump(_JOB)),
        Step("get pytorchjob mnist -o yaml --show-managed-fields"),
        Step("scale pytorchjob mnist --replicas=3"),
        Step("apply --server-side -f -", yaml.safe_dump(_LARGER)),
        Step("apply --server-side --force-conflicts -f -", yaml.safe_dump(_LARGER)),
        Step("get pytorchjob mnist -o jsonpath={.spec}"),
        Step(f"patch pytorchjob mnist --subresource=status --type=merge -p {_RUNNING}"),
        Step("apply --server-side --field-manager=two -f -", yaml.safe_dump(_JOB)),
        Step("apply --server-side -f -", yaml.safe_dump(_BAD_JOB)),
        Step("delete pytorchjob mnist"),
    ),
    "show": (
        Step("apply -f -", _FILE),
        Step("get pods"),
        Step("get pods -o wide"),
        Step("get pods -o name"),
        Step("get pods --show-labels"),
        Step("get pods -l app=web"),
        Step("get pods -l app=other"),
        Step("get pods --field-selector=status.phase=Running"),
        Step("get pods,configmaps"),
        Step("get all"),
        Step("get pod web -o yaml"),
        Step("get pods -o json"),
        Step("get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase"),
        Step("describe pod web"),
        Step("describe configmap settings"),
        Step("get pod absent"),
        Step("get surprises"),
        Step("logs web"),
        Step("get events"),
        Step("events"),
    ),
    "change": (
        Step("create -f -", _FILE),
        Step("create -f -", _FILE),
        Step("label pod web a=b"),
        Step("label pod web a=c"),
        Step("label pod web a=c --overwrite"),
        Step("label pod web a-"),
        Step("annotate pod web note=yes"),
        Step('patch configmap settings -p {"data":{"c":"3"}}'),
        Step('patch configmap settings --type=merge -p {"data":{"c":null}}'),
        Step('patch configmap settings --type=json -p [{"op":"add","path":"/data/d","value":"4"}]'),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("replace -f -", _CHANGED),
        Step("get configmap settings -o jsonpath={.data}"),
        Step("set image pod/web main=busybox:2"),
        Step("wait --for=jsonpath={.status.phase}=Pending pod/web --timeout=5s"),
        Step("delete pod web --wait=true"),
        Step("wait --for=delete pod/web --timeout=5s"),
        Step("delete pod web"),
        Step("delete configmaps -l nothing=here"),
        Step("delete configmap settings --cascade=foreground"),
    ),
    "create": (
        Step("create configmap one --from-literal=a=b"),
        Step("create secret generic two --from-literal=a=b"),
        Step("create serviceaccount three"),
        Step("create role four --verb=get,list --resource=pods"),
        Step("create rolebinding five --role=four --serviceaccount=default:three"),
        Step("create service clusterip six --tcp=80:8080 --clusterip=None"),
        Step("create configmap one --from-literal=a=b"),
        Step("create configmap Wrong --from-literal=a=b"),
        Step("run seven --image=busybox:1 --port=80 --restart=Never -- sleep 5"),
        Step("get secret two -o yaml"),
        Step("get service six -o yaml"),
        Step("get role four -o yaml"),
        Step("get rolebindings -o wide"),
        Step("get services"),
        Step("get secrets"),
        Step("describe role four"),
    ),
    "custom": (
        Step("apply -f -", _WIDGET),
        Step("get widgets"),
        Step("get wd -o wide"),
        Step("get widget wheel -o yaml"),
        Step("describe widget wheel"),
        Step("apply -f -", _TYPO),
        Step("apply -f -", _BROKEN),
        Step("apply -f - --validate=ignore", _TYPO),
        Step("scale widget wheel --replicas=5"),
        Step("get widget wheel -o jsonpath={.spec.replicas}"),
        Step('patch widget wheel --subresource=status --type=merge -p {"status":{"phase":"Round"}}'),
        Step("get wd -o wide"),
        Step("wait --for=jsonpath={.status.phase}=Round widget/wheel --timeout=5s"),
        Step("explain widget.spec"),
        Step("explain widget.spec.size"),
        Step("explain widget --recursive"),
        Step("api-resources --api-group=fidelity.example.com"),
        Step("delete widget wheel"),
        Step("get widgets"),
    ),
    "select": (
        Step("create -f -", _MANY),
        Step("get configmaps --sort-by=.metadata.labels.order -l order"),
        Step("get configmaps --chunk-size=1"),
        Step("get configmaps -l order -L order"),
        Step("get configmaps -l order!=1,order --no-headers"),
        Step("get configmaps -l order --output=go-template={{range.items}}{{.metadata.name}}{{end}}"),
        Step("get configmaps -o jsonpath={.items[*].metadata.name}"),
        Step("get configmaps --field-selector=metadata.name=apple -o name"),
        Step("get configmaps -A --field-selector=metadata.name=apple"),
        Step("get configmaps --field-selector=data.a=1"),
        Step("get configmaps -l ="),
        Step("get configmap/apple configmap/banana -o name"),
        Step("get configmap apple --ignore-not-found"),
        Step("get configmap absent --ignore-not-found"),
        Step("get configmap apple -o yaml --show-managed-fields=false"),
        Step("get -f -", _MANY),
        Step(
            "get configmaps -l order -w",
            meanwhile=((4, "label configmap apple new=yes"), (1, "delete configmap apple"), (1, "")),
        ),
        Step("get configmap cherry -w -o name", meanwhile=((1, "label configmap cherry new=yes"), (1, ""))),
        Step("describe configmaps -l order"),
        Step("get --raw /readyz"),
    ),
    "edit": (
        Step("create -f - --dry-run=client", _FILE),
        Step("create -f - --dry-run=server -o name", _FILE),
        Step("create -f - --save-config", _FILE),
        Step("apply view-last-applied configmap settings"),
        Step("edit configmap settings", editor=_SED + "s/a:.*1/a:2/"),
        Step("edit configmap settings", editor=_SED + "s/a:.*2/a:'2'/"),
        Step("edit configmap settings", editor="true"),
        Step("edit configmap settings -o yaml", editor=_SED + "s/namespace:/labels:{x:y}/"),
        Step("get configmap settings -o jsonpath={.data}"),
        Step('patch pod web --subresource=status -p {"status":{"message":"m"}}'),
        Step("get pod web --subresource=status -o jsonpath={.status.message}"),
        Step('patch configmap settings --dry-run=server -p {"data":{"e":"5"}} -o jsonpath={.data.e}'),
        Step("label pods --all tier=front"),
        Step("label pod web tier=back --resource-version=1 --overwrite"),
        Step("annotate pods -l tier=front note=one"),
        Step("annotate pod web note-"),
        Step("set env pod/web A=b --local -o name", _FILE),
        Step("expose pod web --port=80 --name=front"),
        Step("replace -f - --force", _FILE),
        Step("replace -f -", yaml.safe_dump(config_map("absent"))),
        Step("create -f -", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: 7}\n"),
        Step("create -f -", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: n}\nspec: {}\n"),
        Step("create -f -", "kind: Surprise\napiVersion: v1\nmetadata: {name: n}\n"),
        Step("create namespace <namespace>"),
        Step("create -f -", "not: [yaml"),
    ),
    "delete": (
        Step("create -f -", _PODS),
        Step("delete pod a1 --now"),
        Step("delete pods -l app=a --wait=false"),
        Step("delete pod b1 --cascade=orphan"),
        Step("delete pod b2 --grace-period=0 --force"),
        Step("delete pod c1 --dry-run=server"),
        Step("delete pods --all --cascade=background"),
        Step("delete pods --all"),
        Step("create -f -", _FILE),
        Step("delete pod/web configmap/settings"),
        Step("delete configmap absent --ignore-not-found"),
        Step("delete pods --all --field-selector=status.phase=Failed"),
        Step("get pods"),
    ),
    "wait": (
        Step("create -f -", _FILE),
        Step("wait --for=condition=Ready pod/web --timeout=1s"),
        Step('patch pod web --subresource=status -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}'),
        Step("wait --for=condition=Ready pod/web --timeout=5s"),
        Step("wait --for=condition=Ready=false pod/web --timeout=1s"),
        Step("wait --for=jsonpath={.metadata.name}=web pods --all --timeout=5s"),
        Step("wait --for=condition=Ready pod/absent --timeout=1s"),
        Step("wait --for=condition=Ready pods -l app=none --timeout=1s"),
    ),
    "events": (
        Step("create -f -", _EVENTS),
        Step("events"),
        Step("events --for pod/web"),
        Step("events --for=pod/web -o name"),
        Step("events --types=Warning"),
        Step("get events --sort-by=.metadata.name"),
        Step("get events --field-selector=involvedObject.name=web"),
        Step("get events.events.k8s.io -o name"),
        Step("describe pod web"),
    ),
    "about": (
        Step("version"),
        Step("cluster-info"),
        Step("api-resources --api-group=fidelity.example.com -o wide"),
        Step("api-resources --api-group=apiextensions.k8s.io"),
        Step("auth can-i create pytorchjobs"),
        Step("auth can-i delete pods --subresource=log"),
        Step("auth can-i get surprises"),
        Step("explain pytorchjob", fields_only=True),
        Step("explain pytorchjob.spec.runPolicy"),
        Step("explain pytorchjob.spec.pytorchReplicaSpecs.template.spec.containers.command"),
        Step("explain pytorchjob.spec.runPolicy --recursive"),
        Step("explain pytorchjob.spec.nothing"),
        Step("explain pods.nothing"),
        Step("explain pods --recursive", fields_only=True),
        Step("describe namespace <namespace>"),
        Step("get namespace <namespace> -o jsonpath={.status.phase}"),
    ),
    "job": (
        Step("apply -f -", yaml.safe_dump(_JOB)),
        Step("apply -f -", yaml.safe_dump(_BAD_JOB)),
        Step("apply -f -", yaml.safe_dump({**_JOB, "spec": {"pytorchReplicaSpecs": {}, "surprise": 1}})),
        Step("get pytorchjobs"),
        Step("get pytorchjobs -o wide"),
        Step("get pytorchjob mnist -o yaml"),
        Step(f"patch pytorchjob mnist --subresource=status --type=merge -p {_RUNNING}"),
        Step("get pytorchjobs -A --field-selector=metadata.namespace=<namespace>"),
        Step("wait --for=condition=Running pytorchjob/mnist --timeout=5s"),
        Step("describe pytorchjob mnist"),
        Step("scale pytorchjob mnist --replicas=3"),
        Step("scale pytorchjob mnist --replicas=4 --current-replicas=9"),
        Step("get pytorchjob mnist -o jsonpath={.spec.pytorchReplicaSpecs.Worker.replicas}"),
        Step('patch pytorchjob mnist --type=merge -p {"spec":{"runPolicy":{"suspend":true}}}'),
        Step('patch pytorchjob mnist -p {"spec":{"runPolicy":{"suspend":true}}}'),
        Step("edit pytorchjob mnist", editor=_SED + "s/suspend:.true/suspend:perhaps/"),
        Step("edit pytorchjob mnist", editor=_SED + "s/suspend:.true/suspend:\\x20false/"),
        Step("label pytorchjob mnist team=vision"),
        Step("delete pytorchjob mnist"),
        Step("get pytorchjobs"),
    ),
}
