"""Pods that are rejected."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import JSON_PATCH, MERGE, STRATEGIC, Player
from e2e.support.objects import pod


async def _refused(api: Player, container: dict[str, Any] | None = None, **spec: Any) -> None:
    made = pod("a", **spec)
    made["spec"]["containers"][0].update(container or {})
    await api.post("pods", made)


async def names(api: Player) -> None:
    for name in ("Upper", "under_score", "-a", "a-", "a" * 254, "a..b", "", "x.y"):
        await api.post("pods", pod(name))


async def without_containers(api: Player) -> None:
    await api.post("pods", pod("a", containers=[]))
    await api.post("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    await api.post("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}})


async def containers_without_name_or_image(api: Player) -> None:
    await api.post("pods", pod("a", containers=[{}]))
    await api.post("pods", pod("a", containers=[{"name": "a"}]))
    await api.post("pods", pod("a", containers=[{"image": "a"}]))
    await api.post("pods", pod("a", containers=[{"name": "A", "image": " a"}]))
    await api.post("pods", pod("a", containers=[{"name": "a.b", "image": "a"}]))


async def containers_of_one_name(api: Player) -> None:
    same = {"name": "a", "image": "i"}
    await api.post("pods", pod("a", containers=[same, same]))
    await api.post("pods", pod("a", containers=[same], initContainers=[same]))


async def restart_policies(api: Player) -> None:
    await _refused(api, restartPolicy="Sometimes")
    await _refused(api, restartPolicy="always")
    await _refused(api, {"restartPolicy": "Always"})
    await _refused(api, initContainers=[{"name": "i", "image": "i", "restartPolicy": "Never"}])


async def other_enumerations(api: Player) -> None:
    await _refused(api, dnsPolicy="Mine")
    await _refused(api, dnsPolicy="None")
    await _refused(api, {"imagePullPolicy": "Maybe"})
    await _refused(api, {"terminationMessagePolicy": "None"})


async def variables(api: Player) -> None:
    await _refused(api, {"env": [{"value": "x"}]})
    await _refused(api, {"env": [{"name": "a=b"}]})
    await _refused(
        api, {"env": [{"name": "a", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
    )
    await _refused(api, {"env": [{"name": "a", "valueFrom": {}}]})
    for path in ("metadata.nam", "spec.restartPolicy", "metadata.labels", "spec.nodeName['a']", ""):
        await _refused(api, {"env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": path}}}]})
    await _refused(api, {"env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]})
    await _refused(api, {"env": [{"name": "a", "valueFrom": {"configMapKeyRef": {"key": "k"}}}]})
    await _refused(api, {"envFrom": [{}]})


async def ports(api: Player) -> None:
    await _refused(api, {"ports": [{}]})
    await _refused(api, {"ports": [{"containerPort": 70000}]})
    await _refused(api, {"ports": [{"containerPort": -1}]})
    await _refused(api, {"ports": [{"containerPort": 1, "protocol": "ICMP"}]})
    await _refused(api, {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]})
    for name in ("a-name-that-is-too-long", "UPPER", "123", "a--b", "-a"):
        await _refused(api, {"ports": [{"containerPort": 1, "name": name}]})
    await _refused(api, {"ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 3, "hostPort": 2}]})


async def mounts(api: Player) -> None:
    await _refused(api, {"volumeMounts": [{"name": "v", "mountPath": "/v"}]})
    await _refused(api, {"volumeMounts": [{"name": "v"}]}, volumes=[{"name": "v"}])
    twice = [{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/v"}]
    await _refused(api, {"volumeMounts": twice}, volumes=[{"name": "v"}])
    away = [{"name": "v", "mountPath": "/v", "subPath": "../x"}]
    await _refused(api, {"volumeMounts": away}, volumes=[{"name": "v"}])
    await _refused(api, {"volumeMounts": [{**away[0], "subPath": "/x"}]}, volumes=[{"name": "v"}])


async def volumes(api: Player) -> None:
    await _refused(api, volumes=[{}])
    await _refused(api, volumes=[{"name": "V"}])
    await _refused(api, volumes=[{"name": "v"}, {"name": "v"}])
    await _refused(api, volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}])
    await _refused(api, volumes=[{"name": "v", "configMap": {}}])
    await _refused(api, volumes=[{"name": "v", "secret": {"defaultMode": 999}}])
    await _refused(api, volumes=[{"name": "v", "hostPath": {"path": "/a/../b"}}])
    await _refused(api, volumes=[{"name": "v", "hostPath": {"path": "/a", "type": "Pipe"}}])
    await _refused(api, volumes=[{"name": "v", "persistentVolumeClaim": {}}])
    item = {"key": "", "path": "/x"}
    await _refused(api, volumes=[{"name": "v", "configMap": {"name": "c", "items": [item]}}])


async def resources(api: Player) -> None:
    await _refused(api, {"resources": {"limits": {"cpu": "-1"}}})
    await _refused(api, {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}})
    await _refused(api, {"resources": {"requests": {"example.com/gpu": "1"}}})
    await _refused(api, {"resources": {"limits": {"example.com/gpu": "1500m"}}})
    await _refused(api, {"resources": {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "2"}}})
    await _refused(api, {"resources": {"limits": {"gpu": "1"}}})
    await _refused(api, {"resources": {"limits": {"a/b/c": "1"}}})


async def probes(api: Player) -> None:
    await _refused(api, {"livenessProbe": {}})
    await _refused(api, {"livenessProbe": {"exec": {}}})
    await _refused(api, {"livenessProbe": {"exec": {"command": ["x"]}, "httpGet": {"port": 1}}})
    await _refused(api, {"livenessProbe": {"httpGet": {"port": 0}}})
    await _refused(api, {"livenessProbe": {"httpGet": {"port": 1, "scheme": "ftp"}}})
    await _refused(api, {"livenessProbe": {"tcpSocket": {"port": "a--b"}, "successThreshold": 2}})
    await _refused(api, {"readinessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}})
    initial = {"name": "i", "image": "i", "livenessProbe": {"exec": {"command": ["x"]}}}
    await _refused(api, initContainers=[initial])


async def tolerations(api: Player) -> None:
    await _refused(api, tolerations=[{}])
    await _refused(api, tolerations=[{"key": "a", "operator": "Like"}])
    await _refused(api, tolerations=[{"key": "a", "operator": "Exists", "value": "b"}])
    await _refused(api, tolerations=[{"key": "a", "effect": "Never"}])
    await _refused(api, tolerations=[{"key": "a", "tolerationSeconds": 3}])
    await _refused(api, tolerations=[{"key": "a b", "value": "c d"}])


async def other_fields(api: Player) -> None:
    await _refused(api, activeDeadlineSeconds=0)
    await _refused(api, hostname="Host")
    await _refused(api, subdomain="a.b")
    await _refused(api, serviceAccountName="A_B")
    await _refused(api, nodeName="A_B")
    await _refused(api, nodeSelector={"a b": "c"})
    await _refused(api, nodeSelector={"a": "c d"})


async def values_of_wrong_types(api: Player) -> None:
    await _refused(api, {"image": 1})
    await _refused(api, {"imagePullPolicy": 1})
    await _refused(api, {"command": "sleep"})
    await _refused(api, {"command": [1]})
    await _refused(api, {"env": [{"name": "a", "value": 1}]})
    await _refused(api, {"ports": [{"containerPort": "80"}]})
    await _refused(api, {"ports": [{"containerPort": 1.5}]})
    await _refused(api, {"tty": "yes"})
    await _refused(api, {"resources": {"limits": {"cpu": "much"}}})
    await _refused(api, {"resources": {"limits": {"cpu": ""}}})
    await _refused(api, {"resources": {"limits": {"cpu": "1x"}}})
    await _refused(api, {"resources": []})
    await _refused(api, terminationGracePeriodSeconds="30")
    await _refused(api, activeDeadlineSeconds=1e30)
    await _refused(api, nodeSelector={"a": 1})
    await api.post("pods", pod("a", containers={}))
    await api.post("pods", pod("a", containers=["x"]))
    await _refused(api, hostNetwork=1)


async def unknown_fields(api: Player) -> None:
    made = pod("a", comand=["x"])
    made["spec"]["containers"][0]["comand"] = ["x"]
    await api.post("pods", made, fieldValidation="Strict")
    await api.post("pods", made, fieldValidation="Warn", dryRun="All")
    await api.post("pods", made, fieldValidation="Ignore", dryRun="All")
    await api.post("pods", made, fieldValidation="Sometimes")


async def updates(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a", activeDeadlineSeconds=100))
    await api.patch("pods/a", {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}, STRATEGIC)
    await api.patch("pods/a", {"spec": {"activeDeadlineSeconds": 200}})
    await api.patch("pods/a", {"spec": {"activeDeadlineSeconds": 50}})
    await api.patch("pods/a", {"spec": {"activeDeadlineSeconds": None}})
    await api.patch("pods/a", {"spec": {"tolerations": []}})
    toleration = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "x", "operator": "Exists"}}]
    await api.patch("pods/a", toleration, JSON_PATCH)
    more = {"spec": {"containers": [{"name": "more", "image": "busybox:2"}]}}
    await api.patch("pods/a", more, STRATEGIC)
    await api.patch("pods/a", {"spec": {"containers": [{"name": "main", "image": ""}]}}, STRATEGIC)


async def ended_containers_stay_ended(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a", restartPolicy="Never"))
    base = {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    ended = {**base, "state": {"terminated": {"exitCode": 0}}}
    await api.quietly("PATCH", "pods/a/status", {"status": {"containerStatuses": [ended]}}, MERGE)
    running = {**base, "state": {"running": {}}}
    await api.patch("pods/a/status", {"status": {"containerStatuses": [running]}})
    await api.patch("pods/a/status", {"status": {"qosClass": "Burstable"}})


async def statuses_of_wrong_types(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a/status", {"status": {"phase": 1}})
    await api.patch("pods/a/status", {"status": {"startTime": "yesterday"}})
    await api.patch("pods/a/status", {"status": {"containerStatuses": {}}})
