"""The schemas of the builtin types are those of the pinned Kubernetes."""

from __future__ import annotations

import json

import pytest
from e2e.harness.client import Api
from e2e.tools.kubernetes_schemas import KINDS, TARGET, generate

DATA = json.loads(TARGET.read_text())


def test_data_file_is_current(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--provider") != "bare":
        pytest.skip("needs the Go modules of the provider `bare`")
    assert TARGET.read_text() == generate(), "run `python -m e2e.tools.kubernetes_schemas`"


@pytest.mark.parametrize("document", sorted(KINDS))
async def test_server_has_the_same_fields(api: Api, request: pytest.FixtureRequest, document: str) -> None:
    if request.config.getoption("--provider") != "bare":
        pytest.skip("another server may be of another version")
    served = await api.get(f"/openapi/v3/{document.replace('__', '/')}")
    assert served is not None
    for name, schema in served["components"]["schemas"].items():
        if name in DATA["schemas"]:
            assert schema.get("properties", {}).keys() == DATA["schemas"][name].get("properties", {}).keys(), name
