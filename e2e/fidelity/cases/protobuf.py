"""Objects in protobuf, as Go clients send them."""

from __future__ import annotations

from e2e.fidelity.player import Player

PROTOBUF = "application/vnd.kubernetes.protobuf"


def _field(number: int, content: bytes | str | int) -> bytes:
    """A field of a message; contents stay short, so that every length is one byte."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    raw = content.encode() if isinstance(content, str) else content
    assert len(raw) < 128
    return bytes([number << 3 | 2, len(raw)]) + raw


def _envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + _field(1, _field(1, api_version) + _field(2, kind)) + _field(2, raw)


def _meta(name: str) -> bytes:
    """Metadata with the empty fields that Go never leaves out."""
    return _field(1, _field(1, name) + _field(2, "") + _field(3, "") + _field(5, "") + _field(7, 0) + _field(8, b""))


def _entry(key: str, value: bytes | str) -> bytes:
    return _field(1, key) + _field(2, value)


async def config_map(api: Player) -> None:
    raw = _meta("a") + _field(2, _entry("x", "y")) + _field(2, _entry("", "")) + _field(4, 0)
    await api.send("POST", "configmaps", _envelope("v1", "ConfigMap", raw), PROTOBUF)
    raw = _meta("a") + _field(2, _entry("x", "y")) + _field(3, _entry("b", b"\x00\xff")) + _field(4, 0)
    await api.send("POST", "configmaps", _envelope("v1", "ConfigMap", raw), PROTOBUF)


async def pod(api: Player) -> None:
    volume = _field(1, "v") + _field(2, _field(2, _field(1, "")))
    probe = _field(1, _field(2, _field(1, "/x") + _field(2, _field(1, 1) + _field(2, 0) + _field(3, "web"))))
    limits = _field(8, _field(1, _entry("cpu", _field(1, "500m"))))
    container = _field(1, "main") + _field(2, "i:1") + _field(3, "sleep") + _field(3, "1") + limits + _field(10, probe)
    spec = _field(1, volume) + _field(2, container) + _field(4, 0) + _field(11, 0)
    await api.send("POST", "pods", _envelope("v1", "Pod", _meta("a") + _field(2, spec) + _field(3, b"")), PROTOBUF)


async def role(api: Player) -> None:
    rule = _field(1, "get") + _field(2, "") + _field(3, "pods")
    body = _envelope("rbac.authorization.k8s.io/v1", "Role", _meta("a") + _field(2, rule))
    await api.send("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{api.namespace}/roles", body, PROTOBUF)


async def lease(api: Player) -> None:
    spec = _field(1, "me") + _field(2, 15) + _field(4, b"\x08\x80\xca\xfc\xc5\x06\x10\xc0\xc4\x07")
    body = _envelope("coordination.k8s.io/v1", "Lease", _meta("a") + _field(2, spec))
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    answer = await api.send("POST", path, body, PROTOBUF)
    api.note("renewed at", answer.body["spec"].get("renewTime", "")[:4])


async def of_another_kind(api: Player) -> None:
    await api.send("POST", "configmaps", _envelope("v1", "Secret", _meta("a")), PROTOBUF)
