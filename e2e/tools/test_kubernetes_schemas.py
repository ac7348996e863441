"""The schemas of the builtin types are those of the pinned Kubernetes."""

from __future__ import annotations

import json

import pytest
from e2e.harness.client import Api
from e2e.support import marks
from e2e.tools.kubernetes_schemas import KINDS, TARGET, generate

pytestmark = marks.bare  # the data are of its Go modules

DATA = json.loads(TARGET.read_text())


def test_data_file_is_current() -> None:
    assert TARGET.read_text() == generate(), "run `python -m e2e.tools.kubernetes_schemas`"


@pytest.mark.parametrize("document", sorted(KINDS))
async def test_server_has_the_same_fields(api: Api, document: str) -> None:
    served = await api.get(f"/openapi/v3/{document.replace('__', '/')}")
    assert served is not None
    for name, schema in served["components"]["schemas"].items():
        if name in DATA["schemas"]:
            assert schema.get("properties", {}).keys() == DATA["schemas"][name].get("properties", {}).keys(), name
