"""Who gets an answer, whose permissions are used, and what the browser is told."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from click.testing import CliRunner
from e2e.support.embedded import TOKEN, embedded
from multidict import CIMultiDict
from unit_tests.console.served import config_of, served
from unit_tests.operator.cluster import job_types

from training_console.cli import console
from training_console.model.jobs import resources
from training_console.reading.cluster import Cluster, Reader, ReadOnly, TooManyViewers
from training_console.reading.viewers import (
    SESSION_COOKIE,
    SESSION_SECONDS,
    Forbidden,
    Sessions,
    TrustedProxy,
    Viewer,
)
from training_console.security import Settings
from training_operator.kube.config import ClusterConfig
from training_operator.kube.credentials import Fixed
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request


async def test_only_its_own_names_are_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        for host, status in (("localhost:1", 200), ("127.0.0.1", 200), ("evil.example", 421), ("localhost.evil", 421)):
            assert (await page.get("/", Host=host))[0] == status, host


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("cross-site", "cors", 403),
        ("same-site", "cors", 403),
    ],
)
async def test_pages_of_other_sites_are_told_nothing(tmp_path: Path, site: str, mode: str, status: int) -> None:
    async with served(tmp_path) as page:
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Origin": "https://evil.example"}
        async with page.browser.get(f"{page.address}/", headers=headers) as answer:
            assert answer.status == status
            assert not [name for name in answer.headers if name.startswith("Access-Control-")]
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


async def test_every_answer_says_what_the_browser_may_do(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        for path in ("/", "/static/console.js", "/none", "/jobs/default/jaxjobs/none"):
            async with page.browser.get(page.address + path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy and "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
        async with page.browser.get(f"{page.address}/", headers={"Accept": "text/event-stream"}) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_pages_need_no_inline_script_or_style_and_no_other_host(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.job()
        for path in ("/", "/fleet", "/jobs/default/jaxjobs/sim", "/jobs/default/jaxjobs/sim/logs"):
            _, body = await page.get(path)
            assert "style=" not in body and "onclick" not in body and "<style" not in body
            assert "http://" not in body.replace("http://www.w3.org", "") and "https://" not in body


async def test_a_token_is_kept_here_and_not_in_the_browser(tmp_path: Path) -> None:
    async with served(tmp_path, Sessions(), anonymous=True) as page:
        assert (await page.get("/"))[0] == 303
        form, origin = {"token": TOKEN}, {"Origin": page.address}
        sign_in = f"{page.address}/sign-in"
        async with page.browser.post(sign_in, data={"token": "wrong"}, headers=origin) as answer:
            assert answer.status == 401
        async with page.browser.post(sign_in, data=form, headers={"Origin": "https://evil.example"}) as answer:
            assert answer.status == 403
        async with page.browser.post(sign_in, data=form, headers=origin, allow_redirects=False) as answer:
            assert answer.status == 303
            cookie = answer.cookies[SESSION_COOKIE]
        assert cookie["httponly"] and cookie["samesite"] == "Strict" and TOKEN not in cookie.value
        status, body = await page.get("/")
        assert status == 200 and TOKEN not in body
        async with page.browser.post(f"{page.address}/sign-out", headers=origin, allow_redirects=False) as answer:
            assert answer.status == 303
        assert (await page.get("/", Cookie=f"{SESSION_COOKIE}={cookie.value}"))[0] == 303, (
            "the session is over here, too"
        )


@pytest.mark.parametrize(
    ("headers", "peer", "problem"),
    [
        ([("kubeflow-userid", "ana")], "192.0.2.1", "through its authenticating proxy"),
        ([], "10.0.0.1", "must name one user"),
        ([("kubeflow-userid", "ana"), ("kubeflow-userid", "admin")], "10.0.0.1", "must name one user"),
        ([("kubeflow-userid", "system:admin")], "10.0.0.1", "not impersonated"),
        ([("kubeflow-userid", "ana"), ("groups", "a, system:masters")], "10.0.0.1", "not impersonated"),
        ([("kubeflow-userid", "ana\u0085")], "10.0.0.1", "not printable"),
        ([("kubeflow-userid", "a" * 513)], "10.0.0.1", "too long"),
    ],
)
def test_nobody_but_the_proxy_names_the_user(headers: list[tuple[str, str]], peer: str, problem: str) -> None:
    proxy = TrustedProxy("kubeflow-userid", "groups", ["10.0.0.0/8"])
    with pytest.raises(Forbidden, match=problem):
        proxy.viewer(_request(headers, peer))


def test_headers_that_impersonate_are_made_from_the_name_only() -> None:
    proxy = TrustedProxy("kubeflow-userid", "groups", ["10.0.0.0/8"])
    sent = [("kubeflow-userid", "ana"), ("groups", "a,b"), ("Impersonate-User", "root"), ("Authorization", "Bearer x")]
    viewer = proxy.viewer(_request(sent, "10.1.2.3"))
    assert viewer is not None
    assert viewer.impersonated == (("Impersonate-User", "ana"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    assert not viewer.token


def _request(headers: list[tuple[str, str]], peer: str) -> web.BaseRequest:
    return make_mocked_request("GET", "/", headers=CIMultiDict(headers)).clone(remote=peer)


async def test_nothing_but_get_leaves() -> None:
    for request in (Request("DELETE", "/x"), Request("POST", "/x", body=b""), Request("GET", "/x", body=b"{}")):
        with pytest.raises(PermissionError, match="read-only"):
            await ReadOnly(None).request(request)  # type: ignore[arg-type] # it must not be asked
        with pytest.raises(PermissionError, match="read-only"):
            async with ReadOnly(None).stream(request):  # type: ignore[arg-type] # likewise
                pass


async def test_pages_share_watches_which_end_when_nobody_looks(tmp_path: Path) -> None:
    async with embedded(tmp_path, *job_types("jaxjobs")) as (_, kubeconfig):
        reader = Reader(HttpTransport(config_of(kubeconfig)))
        reader.feeds.linger = 0.0
        jobs = next(each for each in resources() if each.kind == "JAXJob")
        async with reader.feeds.open(jobs) as first, reader.feeds.open(jobs) as second:
            assert first is second
            assert reader.feeds.open_feeds == 1
        await asyncio.sleep(0.01)
        assert reader.feeds.open_feeds == 0
        await reader.close()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--host", "0.0.0.0"], "listens on the loopback interface only"),
        (["--auth", "header"], "needs --trusted-proxy"),
        (["--auth", "header", "--trusted-proxy", "nonsense"], "--trusted-proxy: 'nonsense'"),
        (["--base-path", "no-slash"], "is not a path such as /training"),
        (["--frame-ancestors", "'self'; script-src *"], "one list of sources"),
        (["--kubeconfig", "missing"], "there is no such file"),
        (["--cluster", "none-such"], "none-such"),
    ],
)
def test_bad_flags_are_one_sentence(flags: list[str], sentence: str) -> None:
    result = CliRunner().invoke(console, flags)
    assert result.exit_code == 1
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_a_frame_is_allowed_where_it_is_asked_for() -> None:
    assert "frame-ancestors 'self'" in Settings(frame_ancestors="'self'").policy


async def test_tokens_are_forgotten_when_their_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions()
    name = sessions.begin("secret")
    request = make_mocked_request("GET", "/", headers={"Cookie": f"{SESSION_COOKIE}={name}"})
    assert sessions.viewer(request) is not None
    later = time.monotonic() + SESSION_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert sessions.viewer(request) is None
    assert not sessions._sessions, "the token is gone from memory, too"


async def test_a_viewer_has_so_many_pages_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_console.reading.cluster.MOST_PAGES", 1)
    cluster = Cluster(lambda _: HttpTransport(ClusterConfig("http://127.0.0.1:1", Fixed())))
    async with cluster.reader(Viewer("ana")):
        with pytest.raises(TooManyViewers, match="close some"):
            async with cluster.reader(Viewer("ana")):
                pass
    await cluster.close()
