"""Lists: selectors, pages, versions."""

from __future__ import annotations

from e2e.fidelity.player import Player
from e2e.support.objects import config_map, pod
from e2e.support.widgets import widget

OURS = {"labelSelector": "ours"}


async def _three(api: Player) -> None:
    for name, tier in (("b", "front"), ("a", "front"), ("c", "back")):
        await api.quietly("POST", "configmaps", config_map(name, labels={"ours": "", "tier": tier, "number": "5"}))


async def lists_are_sorted(api: Player) -> None:
    await _three(api)
    await api.get("configmaps", **OURS)


async def empty_list(api: Player) -> None:
    await api.get("widgets")
    await api.get("pods")


async def list_of_widgets_names_kinds(api: Player) -> None:
    await api.quietly("POST", "widgets", widget("a"))
    await api.get("widgets")


async def label_selectors(api: Player) -> None:
    await _three(api)
    for selector in (
        "ours,tier=front",
        "ours,tier==front",
        "ours,tier!=front",
        "tier in (front,back)",
        "ours,tier notin (front)",
        "ours,!absent",
        "number>4",
        "number<5",
        "tier in (front, back),number=5",
        "ours=",
        "tier=",
        "ours in ()",
    ):
        await api.note_names(selector, "configmaps", labelSelector=selector)


async def bad_label_selectors(api: Player) -> None:
    for selector in ("a in b", "a=b c", "=a", "a in (b", "a b", ",", "a,,b", "a>x", "a=-", "a b=c", "!a=b", "a,"):
        await api.get("configmaps", labelSelector=selector)


async def field_selectors(api: Player) -> None:
    await _three(api)
    for selector in ("metadata.name=a", "metadata.name!=a", f"metadata.namespace={api.namespace}", "metadata.name=x"):
        await api.note_names(selector, "configmaps", fieldSelector=selector, **OURS)


async def field_selectors_of_pods(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.quietly("POST", "pods", pod("b", node="n1"))
    await api.quietly("PATCH", "pods/b/status", {"status": {"phase": "Running"}}, "application/merge-patch+json")
    for selector in (
        "spec.nodeName=n1",
        "spec.nodeName=",
        "status.phase=Pending",
        "status.phase!=Pending",
        "spec.restartPolicy=Always",
        "spec.serviceAccountName=",
        "status.podIP=",
        "spec.schedulerName=default-scheduler,status.phase=Running",
    ):
        await api.note_names(selector, "pods", fieldSelector=selector)


async def bad_field_selectors(api: Player) -> None:
    await api.get("configmaps", fieldSelector="data.a=b")
    await api.get("pods", fieldSelector="spec.surprise=b")
    await api.get("widgets", fieldSelector="spec.size=1")
    await api.get("configmaps", fieldSelector="metadata.name")


async def pages(api: Player) -> None:
    await _three(api)
    first = await api.get("configmaps", limit="2", fieldSelector="metadata.name!=kube-root-ca.crt")
    await api.get("configmaps", limit="2", **{"continue": first.body["metadata"]["continue"]})


async def pages_count_what_remains(api: Player) -> None:
    for name in ("a", "b", "c"):
        await api.quietly("POST", "widgets", widget(name))
    first = await api.get("widgets", limit="1")
    second = await api.get("widgets", limit="1", **{"continue": first.body["metadata"]["continue"]})
    await api.get("widgets", limit="1", **{"continue": second.body["metadata"]["continue"]})


async def pages_show_the_state_of_the_first_one(api: Player) -> None:
    for name in ("a", "b", "c"):
        await api.quietly("POST", "widgets", widget(name))
    first = await api.get("widgets", limit="1")
    await api.quietly("DELETE", "widgets/b")
    await api.quietly("POST", "widgets", widget("d"))
    second = await api.get("widgets", **{"continue": first.body["metadata"]["continue"]})
    versions = {answer.body["metadata"]["resourceVersion"] for answer in (first, second)}
    api.note("both pages are of one version", len(versions) == 1)


async def bad_pages(api: Player) -> None:
    await api.get("configmaps", limit="x")
    await api.get("configmaps", **{"limit": "1", "continue": "nonsense"})


async def list_at_a_version(api: Player) -> None:
    first = await api.quietly("POST", "widgets", widget("a"))
    await api.quietly("POST", "widgets", widget("b"))
    version = first.body["metadata"]["resourceVersion"]
    await api.get("widgets", resourceVersion=version, resourceVersionMatch="Exact")
    await api.note_names("not older", "widgets", resourceVersion=version, resourceVersionMatch="NotOlderThan")
    await api.note_names("not older by default", "widgets", resourceVersion=version)


async def bad_versions_of_lists(api: Player) -> None:
    await api.get("widgets", resourceVersionMatch="Exact")
    await api.get("widgets", resourceVersion="0", resourceVersionMatch="Exact")
    await api.get("widgets", resourceVersion="5", resourceVersionMatch="Surprise")
    await api.get("widgets", resourceVersion="x")
    await api.get("widgets", sendInitialEvents="true")


async def list_of_all_namespaces(api: Player) -> None:
    await api.quietly("POST", "widgets", widget("a"))
    found = await api.quietly("GET", "/apis/fidelity.example.com/v1/widgets")
    api.note(
        "seen",
        [item["metadata"]["name"] for item in found.body["items"] if item["metadata"]["namespace"] == api.namespace],
    )
