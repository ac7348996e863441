"""Whatever a client sends, the answer is an object, a Status or a page: never an exception, never a broken store.

This is the small run; `python -m e2e.endurance.fuzz` sends as many requests as one likes, also over HTTPS.
"""

from __future__ import annotations

import asyncio

import pytest
from e2e.endurance.fuzz.play import play_in_memory
from e2e.endurance.fuzz.requests import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from training_operator.kube.transport import Request


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # some strategies take long to show
@given(st.lists(requests(), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_request_is_answered(sent: list[Request]) -> None:
    asyncio.run(play_in_memory(sent))


NOBODY_ACCEPTS = "text/html"
MAP = "/api/v1/namespaces/default/configmaps/a"
FOUND = [
    (Request("PATCH", MAP, body=b'{"data":{"a":"\xff"}}', content_type="application/merge-patch+json"), "400"),
    (Request("PATCH", MAP, body=b'{"data":' * 20_000, content_type="application/merge-patch+json"), "400"),
    (Request("PUT", MAP, body=b'{"metadata":{"name":"a"}}', accept=NOBODY_ACCEPTS), "406"),
    (Request("DELETE", MAP, accept=NOBODY_ACCEPTS), "406"),
]


@pytest.mark.parametrize(("request_", "code"), FOUND)
async def test_what_big_runs_have_found(request_: Request, code: str) -> None:
    assert await play_in_memory([request_]) == {code: 1}
