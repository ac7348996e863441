from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from unit_tests.migration.v2.written import container, objects, rendered, replicated_job, runtime, train_job

from training_migration.v2.classes import ValueClass, comparable, value_class


@pytest.mark.parametrize(
    ("kind", "path", "value", "expected"),
    [
        ("Pod", "metadata.name", "p", ValueClass.GENERATED),
        ("Job", "metadata.name", "p", ValueClass.EXACT),
        ("Job", "metadata.uid", "1", ValueClass.GENERATED),
        ("Job", "metadata.labels.jobset.sigs.k8s.io/jobset-uid", "1", ValueClass.GENERATED),
        ("Job", "metadata.labels.jobset.sigs.k8s.io/job-index", "1", ValueClass.EXACT),
        ("Job", "spec.selector.matchLabels.batch.kubernetes.io/controller-uid", "1", ValueClass.GENERATED),
        ("JobSet", "metadata.ownerReferences[].uid", "1", ValueClass.GENERATED),
        ("JobSet", "metadata.ownerReferences[].name", "1", ValueClass.EXACT),
        ("JobSet", "status.restarts", 0, ValueClass.GENERATED),
        ("Secret", "data.ssh-privatekey", "1", ValueClass.GENERATED),
        ("ConfigMap", "data.hostfile", "1", ValueClass.EXACT),
        ("Pod", "spec.containers[].env", [], ValueClass.UNORDERED),
        ("JobSet", "spec.replicatedJobs[].template.spec.template.spec.volumes", [], ValueClass.UNORDERED),
        ("JobSet", "spec.replicatedJobs", [], ValueClass.EXACT),
        ("Pod", "spec.containers[].args", ["a"], ValueClass.EXACT),
        ("Pod", "spec.dnsPolicy", "ClusterFirst", ValueClass.ENVIRONMENT),
        ("Pod", "spec.dnsPolicy", "None", ValueClass.EXACT),
        ("Job", "spec.template.spec.dnsPolicy", "ClusterFirst", ValueClass.ENVIRONMENT),
        ("Pod", "spec.initContainers[].terminationMessagePolicy", "File", ValueClass.ENVIRONMENT),
        ("Pod", "spec.containers[].readinessProbe.periodSeconds", 10, ValueClass.ENVIRONMENT),
        ("Pod", "spec.containers[].readinessProbe.periodSeconds", 5, ValueClass.EXACT),
        ("Pod", "spec.volumes[]", {"name": "kube-api-access-x"}, ValueClass.ENVIRONMENT),
        ("Pod", "spec.volumes[]", {"name": "data"}, ValueClass.EXACT),
        ("Pod", "spec.tolerations[]", {"key": "node.kubernetes.io/not-ready"}, ValueClass.ENVIRONMENT),
        ("Job", "spec.backoffLimit", 6, ValueClass.ENVIRONMENT),
        ("Job", "spec.backoffLimit", 0, ValueClass.EXACT),
        ("Service", "spec.type", "ClusterIP", ValueClass.ENVIRONMENT),
    ],
)
def test_classes(kind: Any, path: Any, value: Any, expected: Any) -> None:
    assert value_class(kind, path, value) is expected


def pod() -> Any:
    node = container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], resources={"limits": {"cpu": "1"}})
    volumes = [{"name": "data", "emptyDir": {}}]
    rendering = rendered(train_job({}), runtime({"torch": {}}, replicated_job("node", node, pod={"volumes": volumes})))
    return rendering.pods[0].pod


def test_a_pod_as_a_cluster_has_it_is_the_same() -> None:
    stored = deepcopy(pod())
    stored["metadata"] |= {"name": "job-node-0-0-zzzzz", "uid": "1", "resourceVersion": "7", "creationTimestamp": "x"}
    stored["metadata"]["labels"]["controller-uid"] = "other"
    stored["status"] = {"phase": "Pending"}
    spec = stored["spec"]
    spec |= {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "priority": 0, "securityContext": {}}
    spec["tolerations"] = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    spec["volumes"].append({"name": "kube-api-access-abcde", "projected": {}})
    main = spec["containers"][0]
    main["env"].reverse()
    main["imagePullPolicy"] = "IfNotPresent"
    main["resources"]["requests"] = {"cpu": "1000m"}
    main["volumeMounts"] = [{"name": "kube-api-access-abcde", "mountPath": "/var/run"}]
    assert comparable(stored) == comparable(pod())


@pytest.mark.parametrize("change", ["image", "label", "volume", "variable", "hostname"])
def test_what_matters_is_seen(change: Any) -> None:
    stored = deepcopy(pod())
    if change == "image":
        stored["spec"]["containers"][0]["image"] = "other"
    elif change == "label":
        stored["metadata"]["labels"]["own"] = "1"
    elif change == "volume":
        stored["spec"]["volumes"][0] = {"name": "data"}
    elif change == "variable":
        stored["spec"]["containers"][0]["env"][0]["value"] = "9"
    else:
        stored["spec"]["hostname"] = "other"
    assert comparable(stored) != comparable(pod())


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("gcr.io/<your_project>/train:latest", "IfNotPresent"),
        ("Upper:latest", "IfNotPresent"),
        ("r.example:5000/a", "Always"),
        ("a:1", "IfNotPresent"),
        ("r.example:5000/a:1", "IfNotPresent"),
        ("a@sha256:0", "IfNotPresent"),
    ],
)
def test_when_an_image_is_pulled(image: str, policy: Any) -> None:
    def one(**stated: str) -> dict[str, Any]:
        return {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": image, **stated}]}}

    assert comparable(one(imagePullPolicy=policy)) == comparable(one())
    assert comparable(one(imagePullPolicy="Never")) != comparable(one())


def test_the_object_itself_stays_as_it_is() -> None:
    (jobset,) = objects(rendered(train_job({}), runtime({})), "JobSet")
    before = deepcopy(jobset)
    comparable(jobset)
    assert jobset == before
