"""A registry that serves a folder, read-only: `registry_server.py FOLDER PORT`, with the standard library alone."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"


class Handler(SimpleHTTPRequestHandler):
    """The files as they lie, each with the type that clients expect."""

    protocol_version = "HTTP/1.1"

    def guess_type(self, path: object) -> str:
        """The media type of manifests, else plain bytes."""
        return MANIFEST if "/manifests/" in str(path) else "application/octet-stream"


if __name__ == "__main__":
    folder, port = sys.argv[1:]
    ThreadingHTTPServer(("127.0.0.1", int(port)), partial(Handler, directory=folder)).serve_forever()
