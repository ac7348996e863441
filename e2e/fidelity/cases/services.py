"""Services: defaults, rejections, changes."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import STRATEGIC, Player


def service(name: str, *ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    given = {"ports": list(ports)} if ports else {}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {**given, **spec}}


WEB: dict[str, Any] = {"port": 80}
HEADLESS: dict[str, Any] = {"clusterIP": "None", "selector": {"a": "b"}}


async def headless(api: Player) -> None:
    await api.post("services", service("a", {"port": 23456, "name": "web"}, **HEADLESS))


async def headless_without_selector(api: Player) -> None:
    await api.post("services", service("a", clusterIP="None"))


async def headless_for_starting_pods(api: Player) -> None:
    await api.post("services", service("a", WEB, publishNotReadyAddresses=True, **HEADLESS))


async def with_address(api: Player) -> None:
    await api.post("services", service("a", WEB, selector={"a": "b"}))


async def with_target_ports(api: Player) -> None:
    ports = [{"port": 80, "name": "a", "targetPort": "web"}, {"port": 81, "name": "b", "targetPort": 0}]
    await api.post("services", service("a", *ports, **HEADLESS))


async def with_affinity(api: Player) -> None:
    await api.post("services", service("a", WEB, sessionAffinity="ClientIP", **HEADLESS))


async def elsewhere(api: Player) -> None:
    await api.post("services", service("a", type="ExternalName", externalName="example.com"))
    await api.post("services", service("b", type="ExternalName"))
    await api.post("services", service("c", type="ExternalName", externalName="a_b", clusterIP="None"))


async def names(api: Player) -> None:
    for name in ("1a", "A", "a.b", "a" * 64, "a-"):
        await api.post("services", service(name, WEB))


async def ports(api: Player) -> None:
    await api.post("services", service("a"))
    await api.post("services", service("a", WEB, {"port": 81}, **HEADLESS))
    await api.post("services", service("a", {"port": 0}, **HEADLESS))
    await api.post("services", service("a", {"port": 70000}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "name": "A"}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "name": "a"}, {"port": 81, "name": "a"}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "name": "a"}, {**WEB, "name": "b"}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "protocol": "ICMP"}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "targetPort": "a--b"}, **HEADLESS))
    await api.post("services", service("a", {**WEB, "nodePort": 30000}, **HEADLESS))


async def other_fields(api: Player) -> None:
    await api.post("services", service("a", WEB, type="Sometimes"))
    await api.post("services", service("a", WEB, sessionAffinity="Always", **HEADLESS))
    await api.post("services", service("a", WEB, clusterIP="None", selector={"a b": "c"}))
    await api.post("services", service("a", WEB, clusterIP="somewhere"))
    await api.post("services", service("a", WEB, type="NodePort", clusterIP="None"))
    await api.post("services", service("a", WEB, internalTrafficPolicy="Mine", **HEADLESS))


async def changes(api: Player) -> None:
    await api.quietly("POST", "services", service("a", WEB, **HEADLESS))
    await api.patch("services/a", {"spec": {"selector": {"c": "d"}}})
    await api.patch("services/a", {"spec": {"clusterIP": "10.96.0.77"}})
    await api.patch("services/a", {"spec": {"ports": [{"port": 81, "name": "x"}]}}, STRATEGIC)
    await api.patch("services/a", {"spec": {"ports": [{"port": 80, "name": "y"}]}}, STRATEGIC)
    await api.put("services/a", service("a", WEB, selector={"a": "b"}))


async def status(api: Player) -> None:
    await api.quietly("POST", "services", service("a", WEB, **HEADLESS))
    await api.get("services/a/status")
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    await api.patch("services/a/status", {"status": {"conditions": [ready]}})
