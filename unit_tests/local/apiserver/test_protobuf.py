"""Bytes that are not objects in protobuf; what is one, is compared with the real server in the recorded cases."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest
from e2e.support.widgets import WIDGETS
from hypothesis import given
from hypothesis import strategies as st

from training_local.apiserver.crd import crd_types
from training_local.apiserver.protobuf import PROTOBUF, BadProtobuf, decode_object
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request, Response

NAMESPACE = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d65737061636512190a110a017412001a0022002a0032003800420012001a020a001a002200"
)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"k8s", b"k8s\x00", NAMESPACE[:-5], NAMESPACE.replace(b"Namespace", b"Nonsense!")]
)
def test_anything_else_is_rejected(body: bytes) -> None:
    with pytest.raises(BadProtobuf):
        decode_object(body)


@given(st.binary(max_size=60))
def test_no_bytes_break_it(data: bytes) -> None:
    for body in (data, b"k8s\x00" + data, NAMESPACE[:21] + data):
        with suppress(BadProtobuf):
            assert decode_object(body)["kind"] == "Namespace"


@given(st.integers(4, len(NAMESPACE) - 1), st.integers(0, 255))
def test_no_changed_byte_breaks_it(at: int, byte: int) -> None:
    changed = bytearray(NAMESPACE)
    changed[at] = byte
    with suppress(BadProtobuf):
        decode_object(bytes(changed))


async def test_custom_resources_are_json_only() -> None:
    request = Request(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=json.dumps(WIDGETS).encode()
    )
    server = ApiServer(BUILTIN, crd_types)
    async with server.running():
        server.handle(request)
        await asyncio.sleep(0.01)
        path = "/apis/fidelity.example.com/v1/namespaces/default/widgets"
        answer = server.handle(Request("POST", path, body=NAMESPACE, content_type=PROTOBUF))
        assert isinstance(answer, Response)
        assert answer.status == 415
