"""What stands before the console in Kubeflow, as far as the console can see it: a gateway with the dashboard's page.

The gateway has authenticated the user: it strikes the header that names the user from what comes from outside, and sets
its own. The page has the console in a frame of the same origin and adds the chosen namespace to its address as `ns`, as
Kubeflow's central dashboard does for every entry of its menu.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

USER_HEADER: Final = "kubeflow-userid"
DASHBOARD: Final = """<!doctype html><title>Dashboard</title>
<select><option></option><option>team-a</option><option>team-b</option></select>
<iframe width="1200" height="700"></iframe>
<script>
const choose = () => {
  const ns = document.querySelector("select").value;
  document.querySelector("iframe").src = `PREFIX/?ns=${ns}`;
};
</script>"""
STRANGER: Final = """<!doctype html><title>Stranger</title>
<iframe width="600" height="400" src="ADDRESS"></iframe>
<script>
window.tried = [];
const tried = (what, got) => window.tried.push([what, got]);
fetch("ADDRESS").then((answer) => answer.text()).then(() => tried("fetch", true), () => tried("fetch", false));
const source = new EventSource("ADDRESS");
source.onmessage = () => { source.close(); tried("follow", true); };
source.onerror = () => { source.close(); tried("follow", false); };
const script = document.createElement("script");
script.onload = () => tried("script", true);
script.onerror = () => tried("script", false);
script.src = "SCRIPT";
document.head.append(script);
</script>"""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a port of the loopback; yields the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def page(text: str) -> type[BaseHTTPRequestHandler]:
    """A server that answers everything with one page."""

    class Handler(_Quiet):
        def do_GET(self) -> None:
            self.say(text)

    return Handler


def gateway(console: str, prefix: str, user: str) -> type[BaseHTTPRequestHandler]:
    """The dashboard's page, and below `prefix` the console at the address `console`, as a user."""
    target = urlsplit(console)

    class Handler(_Quiet):
        def do_GET(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.say(DASHBOARD.replace("PREFIX", prefix))
                return
            sent = {name: value for name, value in self.headers.items() if name.lower() != USER_HEADER}
            upstream = http.client.HTTPConnection(str(target.hostname), target.port, timeout=60)
            forwarded = {"X-Forwarded-Host": self.headers["Host"], "X-Forwarded-Proto": "https"}
            upstream.request("GET", self.path, headers={**sent, **forwarded, USER_HEADER: user})
            answer = upstream.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.end_headers()
            try:
                while piece := answer.read1(65_536):
                    self.wfile.write(piece)
                    self.wfile.flush()
            except (OSError, http.client.HTTPException):
                pass  # the browser has left, or the console has ended
            finally:
                upstream.close()

    return Handler


class _Quiet(BaseHTTPRequestHandler):
    """One request per connection, nothing on the terminal."""

    def say(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""
