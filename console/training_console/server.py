"""The web server: addresses, who may ask, and what every answer says to the browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from aiohttp import web

from training_console.model import pods as pod_rows
from training_console.model.filters import Filters
from training_console.model.fleet import longest_waiting, over_time, usage
from training_console.model.ranks import ranks
from training_console.model.yaml_view import yaml_lines
from training_console.pages import html, logs
from training_console.pages.job import CurvesPage, JobName, NotFound, job_name, job_page, stored_job
from training_console.pages.jobs import JobFeeds, JobsPage, Rows, all_of, complaints, job_feeds
from training_console.pages.migration import MigrationPage
from training_console.pages.page import Page, Snapshots, stream
from training_console.reading.cluster import Cluster, Reader, TooManyViewers
from training_console.reading.feeds import NoAnswer, NotAllowed
from training_console.reading.verdicts import Search, Verdicts, searching
from training_console.reading.viewers import SESSION_COOKIE, SESSION_SECONDS, Authenticator, Forbidden, Sessions, Viewer
from training_console.security import Settings

EVENT_STREAM: Final = "text/event-stream"
LONGEST_TOKEN: Final = 16_384
STATIC: Final = {"console.js": "text/javascript", "console.css": "text/css", "icon.svg": "image/svg+xml"}
PROBLEMS: Final[Mapping[type[Exception], tuple[int, str]]] = {
    Forbidden: (403, "Not signed in"),
    NotAllowed: (403, "Not allowed"),
    NotFound: (404, "Not found"),
    NoAnswer: (503, "No answer"),
    TooManyViewers: (503, "No answer"),
}
_VIEWER: Final = web.RequestKey("viewer", Viewer)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Console:
    """The pages of one cluster."""

    def __init__(self, cluster: Cluster, authenticator: Authenticator, settings: Settings) -> None:
        self._cluster, self._authenticator, self._settings = cluster, authenticator, settings
        self._templates = html.environment(settings.base_path)
        self._macros = html.Macros(self._templates, "macros.html")
        self._rows = Rows(self._macros)
        self._snapshots = Snapshots()
        self._verdicts = Verdicts()

    def application(self) -> web.Application:
        """Return the application, to be served."""
        made = web.Application(middlewares=[self._guard], client_max_size=2 * LONGEST_TOKEN)
        made.on_response_prepare.append(self._settings.set_headers)
        job = "/jobs/{namespace}/{plural}/{name}"
        routes: Mapping[str, Handler] = {
            "/": self._jobs,
            "/fleet": self._fleet,
            "/fleet/migration": self._migration,
            job: self._job,
            f"{job}/logs": self._logs,
            f"{job}/logs.txt": self._download,
            f"{job}/curves": self._curves,
            f"{job}/ranks": self._ranks,
            f"{job}/yaml": self._yaml,
            f"{job}/pods/{{pod}}": self._pod,
            "/sign-in": self._sign_in,
            "/static/{file}": _static,
        }
        base = self._settings.base_path
        for path, handler in routes.items():
            made.router.add_get(f"{base}{path}", handler)
        made.router.add_get("/healthz", _healthz)
        if self._authenticator.signs_in:
            made.router.add_post(f"{base}/sign-in", self._signed_in)
            made.router.add_post(f"{base}/sign-out", self._sign_out)
        return made

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject unknown hosts and sites, and turn errors into pages."""
        if request.path == "/healthz":
            return await handler(request)
        rejection = self._settings.rejection_of_host(request) or self._settings.rejection_of_site(request)
        if rejection is not None:
            return rejection
        if request.path.startswith(f"{self._settings.base_path}/static/"):
            return await handler(request)
        try:
            viewer = self._authenticator.viewer(request)
            if viewer is None and not request.path.endswith("/sign-in"):
                raise web.HTTPSeeOther(f"{self._settings.base_path}/sign-in")
            request[_VIEWER] = viewer or Viewer("")
            return await handler(request)
        except tuple(PROBLEMS) as error:
            status, heading = PROBLEMS[type(error)]
            context = {"heading": heading, "sentence": str(error), "status": status}
            text = self._render("problem.html", context, request.get(_VIEWER) or Viewer(""))
            return web.Response(status=status, text=text, content_type="text/html")

    def _render(self, template: str, context: Mapping[str, Any], viewer: Viewer) -> str:
        common = {"title": self._settings.title, "viewer": viewer.name, "signs_in": self._authenticator.signs_in}
        return self._templates.get_template(template).render(**common, **context)

    @asynccontextmanager
    async def _reading(self, request: web.Request) -> AsyncIterator[Reader]:
        async with self._cluster.reader(request[_VIEWER]) as reader:
            yield reader

    async def _shown(self, request: web.Request, page: Page) -> web.StreamResponse:
        """Answer with a page, or with what changes of it."""
        if EVENT_STREAM in request.headers.get("Accept", ""):
            return await stream(request, page, self._snapshots, tuple(PROBLEMS))
        fragments = await page.fragments()
        context = {"fragments": fragments, "snapshot": self._snapshots.keep(fragments), **page.context()}
        return self._page(request, page.template, context)

    def _page(self, request: web.Request, template: str, context: Mapping[str, Any]) -> web.Response:
        return web.Response(text=self._render(template, context, request[_VIEWER]), content_type="text/html")

    async def _jobs(self, request: web.Request) -> web.StreamResponse:
        filters = _filters(request)
        async with self._searched(request, filters) as (feeds, search):
            return _again(await self._shown(request, JobsPage(filters, feeds, search, self._rows)), feeds)

    async def _migration(self, request: web.Request) -> web.StreamResponse:
        filters = _filters(request)
        async with self._searched(request, filters) as (feeds, search):
            return _again(await self._shown(request, MigrationPage(filters, feeds, search, self._macros)), feeds)

    @asynccontextmanager
    async def _searched(self, request: web.Request, filters: Filters) -> AsyncIterator[tuple[JobFeeds, Search]]:
        """Hand out the jobs of the viewer's namespaces, and what finds their verdicts."""
        changed = asyncio.Event()
        async with (
            self._reading(request) as reader,
            job_feeds(reader, filters.namespace, changed) as feeds,
            searching(self._verdicts, reader, changed) as search,
        ):
            yield feeds, search

    async def _fleet(self, request: web.Request) -> web.StreamResponse:
        filters, now = _filters(request), datetime.now(UTC)
        async with (
            self._reading(request) as reader,
            job_feeds(reader, filters.namespace, asyncio.Event()) as feeds,
        ):
            rows = filters.apply(row for feed in feeds[0] for row in feed.store)
            context = {"over_time": over_time(rows, now), "usage": usage(rows, now), "waiting": longest_waiting(rows)}
            common = {"filters": filters, "count": len(rows), "complaints": complaints(feeds)}
            return _again(self._page(request, "fleet.html", {**context, **common}), feeds)

    async def _job(self, request: web.Request) -> web.StreamResponse:
        async with self._reading(request) as reader, job_page(reader, _job_name(request), self._macros) as page:
            return await self._shown(request, page)

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        job, query = _job_name(request), logs.LogQuery.read(request)
        async with self._reading(request) as reader, _pods(reader, job) as (names, pods):
            shown = logs.Logs(reader, job, logs.chosen(pods, query), query)
            if EVENT_STREAM in request.headers.get("Accept", ""):
                return await shown.follow(request, self._macros)
            found, problems = await shown.lines()
        context = {"job": job, "tab": "logs", "names": names, "query": query, "lines": found, "problems": problems}
        left_out = len(pods) - len(shown.pods)
        return self._page(request, "logs.html", {**context, "tails": logs.TAILS, "left_out": left_out})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        job, query = _job_name(request), logs.LogQuery.read(request)
        async with self._reading(request) as reader, _pods(reader, job) as (_, pods):
            return await logs.Logs(reader, job, logs.chosen(pods, query), query).download(request)

    async def _curves(self, request: web.Request) -> web.StreamResponse:
        job, chosen = _job_name(request), request.query.get("replica", "")
        async with self._reading(request) as reader:
            await stored_job(reader, job)
            feed = reader.feeds.open(pod_rows.pods(), job.namespace, job.pod_selector)
            async with feed as pods:
                return await self._shown(request, CurvesPage(reader, job, pods, chosen, self._macros))

    async def _ranks(self, request: web.Request) -> web.StreamResponse:
        job = _job_name(request)
        async with self._reading(request) as reader:
            stored = await stored_job(reader, job)
        return self._page(
            request, "ranks.html", {"job": job, "tab": "ranks", "ranks": ranks(job.resource.kind, stored)}
        )

    async def _yaml(self, request: web.Request) -> web.StreamResponse:
        job = _job_name(request)
        async with self._reading(request) as reader:
            stored = await stored_job(reader, job)
        return self._page(
            request, "yaml.html", {"job": job, "tab": "yaml", "lines": yaml_lines(job.resource.kind, stored)}
        )

    async def _pod(self, request: web.Request) -> web.StreamResponse:
        job, name = _job_name(request), request.match_info["pod"]
        async with self._reading(request) as reader:
            stored = await reader.get(pod_rows.pods().path(job.namespace, name))
        if stored is None:
            raise NotFound(f"There is no pod {job.namespace}/{name}; it may have been deleted.")
        context = {"job": job, "tab": "overview", "pod": pod_rows.pod_row(stored), "stored": stored}
        return self._page(request, "pod.html", context)

    async def _sign_in(self, request: web.Request) -> web.StreamResponse:
        if not self._authenticator.signs_in:
            raise NotFound("This console needs no sign-in.")
        return self._page(request, "sign_in.html", {"problem": ""})

    async def _signed_in(self, request: web.Request) -> web.StreamResponse:
        """Remember a token that the API server accepts."""
        assert isinstance(self._authenticator, Sessions)
        self._settings.check_origin(request)
        form = await request.post()
        token = str(form.get("token", "")).strip()
        problem = (
            ""
            if token.isascii() and 0 < len(token) <= LONGEST_TOKEN and token.isprintable()
            else "This is not a bearer token."
        )
        if not problem:
            try:
                await self._cluster.greet(Viewer("", token=token))
            except (NotAllowed, NoAnswer) as error:
                problem = str(error)
        if problem:
            text = self._render("sign_in.html", {"problem": problem}, Viewer(""))
            return web.Response(status=401, text=text, content_type="text/html")
        answer = web.HTTPSeeOther(f"{self._settings.base_path}/")
        answer.set_cookie(
            SESSION_COOKIE,
            self._authenticator.begin(token),
            max_age=int(SESSION_SECONDS),
            path=f"{self._settings.base_path}/",
            httponly=True,
            samesite="Strict",
            secure=request.headers.get("X-Forwarded-Proto", request.scheme) == "https",
        )
        raise answer

    async def _sign_out(self, request: web.Request) -> web.StreamResponse:
        assert isinstance(self._authenticator, Sessions)
        self._settings.check_origin(request)
        self._authenticator.end(request)
        answer = web.HTTPSeeOther(f"{self._settings.base_path}/sign-in")
        answer.del_cookie(SESSION_COOKIE, path=f"{self._settings.base_path}/")
        raise answer


def _again(response: web.StreamResponse, feeds: JobFeeds) -> web.StreamResponse:
    """Have the browser ask once more for a page that came before its jobs."""
    if any(feed.coming for feed in all_of(feeds)) and not response.prepared:
        response.headers["Refresh"] = "1"
    return response


@asynccontextmanager
async def _pods(reader: Reader, job: JobName) -> AsyncIterator[tuple[list[str], Sequence[pod_rows.PodRow]]]:
    """Hand out the pods of a job, and the short names of its replicas."""
    await stored_job(reader, job)
    async with reader.feeds.open(pod_rows.pods(), job.namespace, job.pod_selector) as feed:
        pods = pod_rows.in_order(job.info.replica_types if job.info else (), feed.store)
        yield [pod.replica.short_name for pod in pods], pods


def _job_name(request: web.Request) -> JobName:
    match = request.match_info
    return job_name(match["namespace"], match["plural"], match["name"])


def _filters(request: web.Request) -> Filters:
    """The filters of an address; Kubeflow's central dashboard names the namespace `ns`."""
    query = dict(request.query)
    return Filters.read({"namespace": query.get("ns", ""), **query})


async def _static(request: web.Request) -> web.StreamResponse:
    kind = STATIC.get(request.match_info["file"])
    if kind is None:
        return web.Response(status=404, text="404: Not Found\n")
    body = files("training_console").joinpath("static", request.match_info["file"]).read_bytes()
    return web.Response(body=body, content_type=kind, headers={"Cache-Control": "no-cache"})


async def _healthz(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="ok")
