"""Server-side apply of builtin objects: who owns which fields, conflicts, removal, rejections."""

from __future__ import annotations

from e2e.fidelity.owners import APPLY, apply, config_map, pod, service, show_owners
from e2e.fidelity.player import JSON_PATCH, MERGE, STRATEGIC, Player

MAIN = {"name": "main", "image": "busybox:1"}


async def creates(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}, labels={"l": "1"}, annotations={"n": "1"}))
    await apply(api, "configmaps/a", config_map({"x": "1"}, labels={"l": "1"}, annotations={"n": "1"}))
    await show_owners(api, "configmaps/a")


async def yaml_body(api: Player) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  since: '2026-01-01'\n  flag: \"yes\"\n"
    await apply(api, "configmaps/a", text)


async def changes(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))
    await apply(api, "configmaps/a", config_map({"x": "3", "z": "4"}))


async def removes_what_is_no_longer_said(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}, labels={"l": "1", "m": "2"}, annotations={"n": "1"}))
    await apply(api, "configmaps/a", config_map({"x": "1"}, labels={"l": "1"}))
    await apply(api, "configmaps/a", config_map())


async def leaves_what_others_own(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))
    await apply(api, "configmaps/a", config_map({"x": "1", "z": "3"}), "two")
    await apply(api, "configmaps/a", config_map({"y": "2"}))
    await apply(api, "configmaps/a", config_map(), "two")


async def conflicts(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))
    await apply(api, "configmaps/a", config_map({"x": "2"}), "two")
    await apply(api, "configmaps/a", config_map({"x": "2", "y": "3"}), "two")
    await apply(api, "configmaps/a", config_map({"x": "2", "y": "3"}), "two", force="true")
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))


async def conflicts_with_updaters(api: Player) -> None:
    await api.post("configmaps", config_map({"x": "1", "y": "2"}), fieldManager="creator")
    await api.patch("configmaps/a", {"data": {"y": "3"}}, MERGE, fieldManager="patcher")
    await show_owners(api, "configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "9"}))
    await apply(api, "configmaps/a", config_map({"y": "9"}))
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "3"}))
    await apply(api, "configmaps/a", config_map({"x": "9", "y": "9"}), force="true")


async def conflicts_with_several(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))
    await apply(api, "configmaps/a", config_map({"z": "1"}, labels={"l": "1"}), "two")
    answer = await api.quietly(
        "PATCH",
        "configmaps/a?fieldManager=three",
        config_map({"x": "9", "z": "9", "y": "9"}, labels={"l": "9"}),
        content_type=APPLY,
    )
    api.note("message", answer.body["message"])
    api.note("causes found", sorted((cause["message"], cause["field"]) for cause in answer.body["details"]["causes"]))


async def equal_values_are_shared(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await apply(api, "configmaps/a", config_map({"x": "1"}), "two")
    await apply(api, "configmaps/a", config_map({"x": "2"}))
    await apply(api, "configmaps/a", config_map(), "two")


async def nobody_owns_what_is_taken_away(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))
    await api.patch("configmaps/a", {"data": {"x": None}}, MERGE, fieldManager="two")
    await show_owners(api, "configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}))


async def pods(api: Player) -> None:
    port = {"containerPort": 80}
    main = {**MAIN, "env": [{"name": "A", "value": "1"}], "ports": [port], "resources": {"limits": {"cpu": "1"}}}
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "m"}}]
    mount = {"name": "v", "mountPath": "/v"}
    whole = pod({**main, "volumeMounts": [mount]}, volumes=volumes, automountServiceAccountToken=False)
    await apply(api, "pods/a", whole)
    await apply(api, "pods/a", whole)
    await apply(api, "pods/a", pod({**MAIN, "image": "busybox:2"}), "two")
    await apply(api, "pods/a", pod({**MAIN, "image": "busybox:2"}), "two", force="1")


async def pods_created_by_post(api: Player) -> None:
    whole = pod(
        {
            **MAIN,
            "command": ["a"],
            "ports": [{"containerPort": 80, "name": "x"}, {"containerPort": 80, "protocol": "UDP"}],
        },
        nodeSelector={"a": "b"},
        tolerations=[{"key": "k", "operator": "Exists"}],
        automountServiceAccountToken=False,
    )
    await api.post("pods", whole, fieldManager="creator")
    await show_owners(api, "pods/a")


async def bound_and_running_pods(api: Player) -> None:
    await api.post("pods", pod(MAIN, automountServiceAccountToken=False), fieldManager="creator")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n"},
    }
    await api.post("pods/a/binding", binding, fieldManager="scheduler")
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "podIP": "10.0.0.1"}}
    await api.patch("pods/a/status", running, STRATEGIC, fieldManager="kubelet")
    await show_owners(api, "pods/a")
    await api.patch("pods/a/status", {"status": {"phase": "Failed"}}, STRATEGIC, fieldManager="kubelet")
    await api.patch("pods/a", {"metadata": {"labels": {"x": "y"}}}, MERGE, fieldManager="labeler")
    await show_owners(api, "pods/a")
    await api.delete("pods/a", {"gracePeriodSeconds": 0})


async def status_of_pods(api: Player) -> None:
    await api.post("pods", pod(MAIN, automountServiceAccountToken=False), fieldManager="creator")
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"l": "1"}}, "status": status}
    await apply(api, "pods/a/status", whole, "kubelet")
    await apply(api, "pods/a/status", {**whole, "status": {"phase": "Running"}}, "kubelet")
    await apply(api, "pods/a/status", {**whole, "status": {"phase": "Failed"}}, "other")
    await apply(api, "pods/a", {**pod(MAIN), "status": status}, "main")


async def services(api: Player) -> None:
    first, second = {"name": "one", "port": 80}, {"name": "two", "port": 81, "protocol": "UDP"}
    await apply(api, "services/a", service(first, selector={"a": "1", "b": "2"}))
    await apply(api, "services/a", service(second), "two")
    await apply(api, "services/a", service(selector={"a": "1"}), "two")
    await apply(api, "services/a", service({**first, "targetPort": "http"}, selector={"a": "1", "b": "2"}))


async def order_of_items(api: Player) -> None:
    names = ("one", "two", "three", "four")
    await apply(api, "services/a", service(*({"name": name, "port": 80 + i} for i, name in enumerate(names))))
    moved = ("four", "five", "two")
    ports = {"one": 80, "two": 81, "three": 82, "four": 83, "five": 84}
    await apply(api, "services/a", service(*({"name": name, "port": ports[name]} for name in moved)), "two")
    await apply(api, "services/a", service({"name": "six", "port": 85}, {"name": "one", "port": 80}), "three")


async def finalizers_are_a_set(api: Player) -> None:
    await apply(api, "configmaps/a", config_map(finalizers=["example.com/one", "example.com/two"]))
    await apply(api, "configmaps/a", config_map(finalizers=["example.com/two", "example.com/three"]), "two")
    await apply(api, "configmaps/a", config_map(finalizers=["example.com/one"]))
    await apply(api, "configmaps/a", config_map())
    await apply(api, "configmaps/a", config_map(), "two")


async def owner_references(api: Player) -> None:
    owner = (await api.quietly("POST", "configmaps", {"metadata": {"name": "owner"}})).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await apply(api, "configmaps/a", config_map(ownerReferences=[reference]))
    await apply(api, "configmaps/a", config_map(ownerReferences=[{**reference, "controller": True}]), "two")
    await apply(api, "configmaps/a", config_map())


async def dry_run(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}), dryRun="All")
    await api.get("configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await apply(api, "configmaps/a", config_map({"x": "2"}), "two", dryRun="All")
    await apply(api, "configmaps/a", config_map({"x": "2"}), "two", dryRun="All", force="true")
    await show_owners(api, "configmaps/a")


async def without_a_manager(api: Player) -> None:
    await api.patch("configmaps/a", config_map({"x": "1"}), APPLY)
    await api.patch("configmaps/a", config_map({"x": "1"}), APPLY, fieldManager="x" * 129)
    await api.patch("configmaps/a", config_map({"x": "1"}), APPLY, fieldManager="a\tb")
    await api.post("configmaps", config_map({"x": "1"}), fieldManager="x" * 129)
    await api.patch("configmaps/a", {"data": {}}, MERGE, force="true")
    await api.patch("configmaps/a", config_map({"x": "1"}), APPLY, dryRun="Some", fieldValidation="Maybe")


async def unreadable(api: Player) -> None:
    for body in (b"{", b"a: b: c", b"[]", b"- a", b"text", b""):
        answer = await api.quietly("PATCH", "configmaps/a?fieldManager=one", body, content_type=APPLY)
        api.note("status", [answer.status, answer.body["reason"], answer.body["message"][:20]])


async def wrong_types_of_values(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": 1}))
    await apply(api, "configmaps/a", {**config_map(), "surprise": 1})
    await apply(api, "configmaps/a", {**config_map(), "data": []})
    await apply(api, "configmaps/a", {**config_map(), "immutable": "yes"})
    await apply(api, "services/a", service({"port": "80"}))
    await apply(api, "services/a", service({"name": "x"}))
    await apply(api, "pods/a", pod({"name": "a", "image": "b", "imige": "c"}, {"name": 1}))
    await apply(api, "pods/a", pod({"name": "a"}, {"name": "a"}))
    await apply(api, "configmaps/a", config_map(finalizers=["a.b/c", "a.b/c"]))


async def wrong_objects(api: Player) -> None:
    await apply(api, "configmaps/a", {**config_map(), "kind": "Secret"})
    await apply(api, "configmaps/a", {**config_map(), "apiVersion": "v2"})
    await apply(api, "configmaps/a", {"metadata": {"name": "a"}})
    await apply(api, "configmaps/a", config_map(name="b"))
    await apply(api, "configmaps/a", {"apiVersion": "v1", "kind": "ConfigMap"})
    await apply(api, "configmaps/a", config_map(namespace="elsewhere"))
    await apply(api, "configmaps/a", config_map(managedFields=[]))
    await apply(api, "configmaps/a", config_map(managedFields=[{}]))
    await apply(api, "configmaps/A", config_map(name="A"))
    await apply(api, "configmaps/a", config_map(labels={"a": "b c"}))


async def with_a_version(api: Player) -> None:
    created = await apply(api, "configmaps/a", config_map({"x": "1"}))
    version = created.body["metadata"]["resourceVersion"]
    await apply(api, "configmaps/a", config_map({"x": "2"}, resourceVersion=version))
    await apply(api, "configmaps/a", config_map({"x": "3"}, resourceVersion=version))
    await apply(api, "configmaps/b", config_map({"x": "3"}, name="b", resourceVersion=version))


async def with_a_uid(api: Player) -> None:
    created = await apply(api, "configmaps/a", config_map({"x": "1"}))
    uid = created.body["metadata"]["uid"]
    await apply(api, "configmaps/a", config_map({"x": "2"}, uid=uid))
    await apply(api, "configmaps/a", config_map({"x": "2"}, uid="00000000-0000-4000-8000-000000000000"))
    await api.quietly("DELETE", "configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "3"}, uid=uid))


async def keys_that_stand_twice(api: Player) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: '1'\n  x: '2'\n"
    await apply(api, "configmaps/a", text, fieldValidation="Strict")
    await apply(api, "configmaps/a", text, fieldValidation="Ignore")
    await apply(api, "configmaps/a", text, fieldValidation="Warn")
    await apply(api, "configmaps/a", text)


async def cbor(api: Player) -> None:
    await api.send("PATCH", "configmaps/a?fieldManager=one", b"\xa0", "application/apply-patch+cbor")
    await api.send("PATCH", "widgets/a?fieldManager=one", b"\xa0", "application/apply-patch+cbor")


async def updates_take_what_they_change(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1", "y": "2"}, labels={"l": "1"}))
    await api.put("configmaps/a", config_map({"x": "1", "y": "3", "z": "4"}, labels={"l": "1"}), fieldManager="two")
    await show_owners(api, "configmaps/a")
    await api.put("configmaps/a", config_map({"x": "1", "y": "3", "z": "4"}, labels={"l": "1"}), fieldManager="three")
    await api.patch("configmaps/a", [{"op": "remove", "path": "/data/z"}], JSON_PATCH, fieldManager="four")
    await show_owners(api, "configmaps/a")


async def names_of_managers(api: Player) -> None:
    await api.post("configmaps", config_map({"x": "1"}))
    await show_owners(api, "configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "2"}), 'name with "quotes" and ü')
    await apply(api, "configmaps/a", config_map({"x": "2"}), 'name with "quotes" and ü', force="true")
    await apply(api, "configmaps/a", config_map({"x": "3"}))


async def an_updater_and_an_applier_of_one_name(api: Player) -> None:
    await api.post("configmaps", config_map({"x": "1", "y": "2"}), fieldManager="same")
    await apply(api, "configmaps/a", config_map({"x": "2"}), "same")
    await apply(api, "configmaps/a", config_map({"x": "2"}), "same", force="true")
    await api.patch("configmaps/a", {"data": {"x": "3"}}, MERGE, fieldManager="same")
    await show_owners(api, "configmaps/a")


async def many_updaters(api: Player) -> None:
    await api.post("configmaps", config_map({"x": "1"}), fieldManager="m00")
    for number in range(1, 13):
        change = {"data": {f"k{number:02}": "1"}}
        await api.quietly("PATCH", f"configmaps/a?fieldManager=m{number:02}", change, content_type=MERGE)
    await show_owners(api, "configmaps/a")


async def managed_fields_in_requests(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await api.put("configmaps/a", config_map({"x": "1"}), fieldManager="two")
    entries = await show_owners(api, "configmaps/a")
    renamed = [{**entries[0], "manager": "renamed"}]
    await api.patch("configmaps/a", {"metadata": {"managedFields": renamed}}, MERGE, fieldManager="two")
    await show_owners(api, "configmaps/a")
    await api.patch("configmaps/a", {"metadata": {"managedFields": [{"operation": "Wrong"}]}}, MERGE)
    await show_owners(api, "configmaps/a")
    await api.patch("configmaps/a", {"metadata": {"managedFields": [{}]}}, MERGE, fieldManager="two")
    await show_owners(api, "configmaps/a")
    await api.patch("configmaps/a", {"data": {"x": "2"}}, MERGE, fieldManager="two")
    await show_owners(api, "configmaps/a")
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await apply(api, "configmaps/a", config_map({"x": "2"}))


async def forgetting_with_an_empty_list(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await api.put("configmaps/a", config_map({"x": "1", "y": "2"}, managedFields=[]), fieldManager="two")
    await show_owners(api, "configmaps/a")
    await api.post("configmaps", config_map({"x": "1"}, name="b", managedFields=[]), fieldManager="two")
    await show_owners(api, "configmaps/b")


async def json_patch_of_managed_fields(api: Player) -> None:
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    await api.patch(
        "configmaps/a", [{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "two"}], JSON_PATCH
    )
    await show_owners(api, "configmaps/a")
    await api.patch("configmaps/a", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}], JSON_PATCH)
    await show_owners(api, "configmaps/a")


async def secrets(api: Player) -> None:
    await apply(api, "leases/a", {}, "one")
    text = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": "b"}, "type": "Opaque"}
    await apply(api, "secrets/a", text)
    await apply(api, "secrets/a", {**text, "stringData": {"c": "d"}})


async def takes_over_from_client_side_apply(api: Player) -> None:
    last = '{"apiVersion":"v1","data":{"x":"1","y":"2"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"a"}}\n'
    note = {"kubectl.kubernetes.io/last-applied-configuration": last}
    await api.post(
        "configmaps", config_map({"x": "1", "y": "2"}, annotations=note), fieldManager="kubectl-client-side-apply"
    )
    await apply(api, "configmaps/a", config_map({"x": "5", "y": "2"}), "other")
    await apply(api, "configmaps/a", config_map({"x": "5", "y": "2"}), "kubectl")
    await api.patch("configmaps/a", {"data": {"y": "7"}}, MERGE, fieldManager="editor")
    await apply(api, "configmaps/a", config_map({"x": "6", "y": "8"}), "kubectl")


async def namespaces(api: Player) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": api.namespace, "labels": {"team": "a"}}}
    await apply(api, f"/api/v1/namespaces/{api.namespace}", space)
    await apply(api, f"/api/v1/namespaces/{api.namespace}", {**space, "metadata": {"name": api.namespace}})


async def absent_subresources(api: Player) -> None:
    await apply(api, "pods/absent/status", pod(MAIN))
    await apply(api, "configmaps/absent/status", config_map())


async def metadata_alone(api: Player) -> None:
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    await apply(api, "configmaps/a", config_map({"x": "1"}))
    answer = await api.quietly("GET", "configmaps/a", accept=accept)
    api.note("owners", answer.body["metadata"]["managedFields"])
