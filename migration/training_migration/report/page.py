"""One HTML page that needs nothing else, nothing from the network above all; light and dark."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Final

from training_migration.report.svg import STYLE

_PAGE: Final = """
:root {color-scheme: light dark}
body {font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em}
h1 {font-size: 1.5em} h2 {font-size: 1.15em; margin-top: 2em}
code {font: 0.92em ui-monospace, monospace; overflow-wrap: anywhere}
summary {cursor: pointer}
details ul {margin: 0.3em 0 0.8em; padding-left: 1.4em}
""".strip()
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""For a browser: nothing but the styles of the page itself; what is in a report comes from others."""


def page(title: str, *sections: str, style: str = "", script: str = "") -> str:
    """A page of pieces of HTML under a title; of scripts a browser runs this one and no other."""
    policy, code = _POLICY, ""
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy, code = f"{_POLICY}; script-src 'sha256-{digest}'", f"\n<script>{script}</script>"
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_PAGE}{STYLE}{style}</style></head>"
    )
    body = "\n".join([f"<h1>{escape(title)}</h1>", *sections])
    return f'{head}\n<body class="mig">\n{body}{code}\n</body></html>'
