"""What every request must show and every answer says: names of this server, origins, headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from training_console.reading.viewers import Forbidden

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Settings:
    """How the console is reached."""

    hosts: frozenset[str] = LOOPBACK
    """Names under which browsers address it, in lower case, without a port: another name of this machine's address
    may be an attacker's (DNS rebinding)."""
    base_path: str = ""
    """What a proxy puts before all addresses, as `/training`."""
    frame_ancestors: str = "'none'"
    """Which pages may show it in a frame (Content-Security-Policy)."""
    title: str = "Training jobs"

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of every answer."""
        return (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            f"form-action 'self'; base-uri 'none'; frame-ancestors {self.frame_ancestors}"
        )

    def rejection_of_host(self, request: web.Request) -> web.Response | None:
        """Return the answer to a request that names another server; None if it names this one."""
        host = request.headers.get("Host", "")
        if _without_port(host) in self.hosts:
            return None
        return web.Response(status=421, text=f"This console is not reached as {host[:200]!r}: see --allowed-host.\n")

    @staticmethod
    def rejection_of_site(request: web.Request) -> web.Response | None:
        """Return the answer to what a page of another site asks for; None for a link that was followed.

        The browser would not show it the answer anyhow; this way the API server is not even asked for it.
        """
        site, mode = (request.headers.get(f"Sec-Fetch-{name}", "") for name in ("Site", "Mode"))
        if site in ("", "same-origin", "none") or mode == "navigate":
            return None
        return web.Response(status=403, text="Requests from pages of other sites are rejected.\n")

    def check_origin(self, request: web.Request) -> None:
        """Raise `Forbidden` for a form that another site has sent."""
        origin = urlsplit(request.headers.get("Origin", "")).netloc
        if not origin or _without_port(origin) not in self.hosts:
            raise Forbidden("This form was not sent by a page of this console.")

    async def set_headers(self, _request: web.BaseRequest, answer: web.StreamResponse) -> None:
        """Say in every answer what the browser may do with it."""
        answer.headers["Content-Security-Policy"] = self.policy
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Referrer-Policy"] = "same-origin"
        answer.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        answer.headers.setdefault("Cache-Control", "no-store")


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()
