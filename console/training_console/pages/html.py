"""Templates: every text of others is escaped, and made fit to be shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from training_api.printable import legible, printable
from training_local.durations import human
from training_local.run.pod_metrics import in_bytes

NOT_KNOWN: Final = "-"


def environment(base_path: str) -> Environment:
    """Return the templates; addresses in them begin with `base_path`."""
    made = Environment(
        loader=PackageLoader("training_console", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["base"] = base_path
    made.filters.update(legible=legible, printable=printable, ago=ago, bytes=in_bytes, span=human)
    return made


def ago(moment: datetime | None) -> Markup:
    """Return how long ago it was; the page's script keeps it current."""
    if moment is None:
        return Markup(NOT_KNOWN)
    stamp = moment.astimezone(UTC).isoformat(timespec="seconds")
    text = human(max((datetime.now(UTC) - moment).total_seconds(), 0.0))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(stamp, stamp, text)


class Macros:
    """The macros of one template, called as functions that return HTML."""

    def __init__(self, templates: Environment, name: str) -> None:
        self._module: Any = templates.get_template(name).make_module({"base": templates.globals["base"]})

    def __call__(self, macro: str, *arguments: object) -> str:
        """Return what a macro makes of its arguments."""
        return str(escape(getattr(self._module, macro)(*arguments)))
