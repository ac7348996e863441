"""The protobuf numbers of the builtin types are those of the pinned Kubernetes."""

from __future__ import annotations

from e2e.support import marks
from e2e.tools.protobuf_numbers import TARGET, generate

pytestmark = marks.bare  # the data are of its Go modules


def test_data_file_is_current() -> None:
    assert TARGET.read_text() == generate(), "run `python -m e2e.tools.protobuf_numbers`"
