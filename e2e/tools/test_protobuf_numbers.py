"""The protobuf numbers of the builtin types are those of the pinned Kubernetes."""

from __future__ import annotations

import pytest
from e2e.tools.protobuf_numbers import TARGET, generate


def test_data_file_is_current(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--provider") != "bare":
        pytest.skip("needs the Go modules of the provider `bare`")
    assert TARGET.read_text() == generate(), "run `python -m e2e.tools.protobuf_numbers`"
