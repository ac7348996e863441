"""The schemas of Kubernetes inside our CRDs are those of the pinned version of Kubernetes."""

from __future__ import annotations

import pytest
from e2e.harness.client import Api
from e2e.support import marks

from training_api.crd.upstream import DATA, render

VERSION = ("1", "34")
DOCUMENTS = ("/openapi/v3/api/v1", "/openapi/v3/apis/autoscaling/v2")


@marks.real  # the embedded API server leaves most out
async def test_schemas_are_those_of_the_api_server(api: Api) -> None:
    version = await api.get("/version")
    assert version is not None
    if (version["major"], version["minor"]) != VERSION:
        pytest.skip(f"the schemas are taken from an API server of version {'.'.join(VERSION)}")
    documents = [await api.get(path) for path in DOCUMENTS]
    assert render([document for document in documents if document]) == DATA.read_text()
