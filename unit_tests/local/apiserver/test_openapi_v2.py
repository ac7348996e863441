"""OpenAPI version 2 for old clients: the smaller language, and protobuf that can be read back.

That kubectl 1.28 understands it is tested by `make e2e`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.support.api_client import Client
from e2e.support.widgets import WIDGETS

from training_local.apiserver import openapi, openapi_v2
from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN

ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
TYPES = (*BUILTIN, *crd_types({**WIDGETS, "status": {}}))


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field; an independent reading of the encoding."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        length = {1: 8, 2: None}[tag & 7] or varint()
        yield tag >> 3, data[at : at + length]
        at += length


def named(data: bytes) -> dict[str, bytes]:
    """A mapping: pairs of name and value."""
    found = {}
    for _, pair in fields(data):
        assert isinstance(pair, bytes)
        name, value = (each for _, each in fields(pair))
        assert isinstance(name, bytes)
        assert isinstance(value, bytes)
        found[name.decode()] = value
    return found


def of(data: bytes, number: int) -> bytes:
    (value,) = (value for found, value in fields(data) if found == number)
    assert isinstance(value, bytes)
    return value


def test_the_document_can_be_read_back() -> None:
    answer = openapi.document("/openapi/v2", ACCEPT, TYPES)
    assert answer is not None
    body, content_type = answer
    assert content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert of(body, 1) == b"2.0"
    definitions = named(of(body, 9))
    assert {"io.k8s.api.core.v1.Pod", "com.example.fidelity.v1.Widget"} <= definitions.keys()
    widget = definitions["com.example.fidelity.v1.Widget"]
    assert of(of(widget, 22), 1) == b"object"
    size = named(of(named(of(widget, 25))["spec"], 25))["size"]
    assert of(of(size, 22), 1) == b"integer"
    kinds = of(widget, 31)
    assert of(kinds, 1) == b"x-kubernetes-group-version-kind"
    assert json.loads(of(of(kinds, 2), 2)) == [{"group": "fidelity.example.com", "version": "v1", "kind": "Widget"}]
    paths = named(of(body, 8))
    assert "/api/v1/namespaces/{namespace}/pods/{name}" in paths


@pytest.mark.parametrize("accept", ["application/json", "*/*", f"application/json, {ACCEPT}", "text/html"])
def test_json_for_everyone_else(accept: str) -> None:
    answer = openapi.document("/openapi/v2", accept, TYPES)
    assert answer is not None
    assert answer[1] == "application/json"
    definitions = json.loads(answer[0])["definitions"]
    assert definitions["io.k8s.api.core.v1.Pod"]["properties"]["spec"] == {
        "$ref": "#/definitions/io.k8s.api.core.v1.PodSpec"
    }


@pytest.mark.parametrize(
    ("schema", "simpler"),
    [
        ({"type": "string", "nullable": True, "default": "a"}, {}),
        ({"type": "array", "x-kubernetes-list-type": "atomic"}, {"x-kubernetes-list-type": "atomic"}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
            {"x-kubernetes-int-or-string": True},
        ),
        (
            {"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, {"type": "string"}),
        (
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"nullable": True}, "b": {"type": "string"}},
            },
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
        ),
        (
            {"type": "object", "additionalProperties": {"nullable": True}},
            {"type": "object", "additionalProperties": {}},
        ),
    ],
)
def test_what_version_2_cannot_say_is_left_out(schema: dict[str, Any], simpler: dict[str, Any]) -> None:
    assert openapi_v2.simplified(schema) == simpler


async def test_questions_about_oneself_are_answered_and_not_stored() -> None:
    client = Client(ApiServer(BUILTIN, crd_types))
    before = client.server.state.storage.version
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    status, answer = await client.call("POST", path, asked)
    assert (status, answer["status"], answer["spec"]) == (201, {"allowed": True}, asked["spec"])
    status, answer = await client.call(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
    )
    assert (status, answer["status"]["incomplete"]) == (201, False)
    status, answer = await client.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert (status, answer["status"]["userInfo"]["username"]) == (201, "local")
    assert (await client.call("GET", path))[0] == 405
    assert (await client.call("GET", f"{path}/a"))[0] == 405
    assert client.server.state.storage.version == before
