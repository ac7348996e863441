"""One job as a single file of HTML, to be kept or sent: everything that its pages say, without scripts."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Final

from training_console.model.curves import curves
from training_console.model.ranks import ranks
from training_console.model.yaml_view import yaml_lines
from training_console.pages import html
from training_console.pages.job import NotFound, job_name, job_page, stored_job
from training_console.pages.logs import LogQuery, Logs, chosen
from training_console.reading.archive import ArchiveTransport
from training_console.reading.cluster import Reader
from training_console.reading.feeds import NoAnswer
from training_controllers.frameworks.plugins import kinds
from training_local.errors import BadInput
from training_local.run.archive import ArchivedRun

MOST_LINES: Final = 20_000
"""Of the log, the last ones."""
LINK: Final = re.compile(r' href="/[^"]*"')
"""To a page that the file does not have."""


async def export(run: ArchivedRun, file: Path) -> None:
    """Write a run into `file`; raises `BadInput` if that cannot be done."""
    text = await exported(run)
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise BadInput(f"--export {file}: it already exists; name another file") from None
    except OSError as error:
        raise BadInput(f"--export {file}: it cannot be written: {error.strerror}") from None


async def exported(run: ArchivedRun) -> str:
    """Return a run as HTML."""
    info = kinds().get(run.record.kind)
    if info is None:
        raise BadInput(f"run {run.id} is of {run.record.kind}, which is not known here")
    job = job_name(run.record.namespace, info.plural, run.record.name)
    reader = Reader(ArchiveTransport(run))
    templates = html.environment("")
    try:
        stored = await stored_job(reader, job)
        async with job_page(reader, job, html.Macros(templates, "macros.html")) as page:
            fragments = await page.fragments()
            pods = page.pods
            lines, _ = await Logs(reader, job, chosen(pods, LogQuery()), LogQuery(tail=MOST_LINES)).lines()
            context = page.context()
    except (NotFound, NoAnswer) as error:
        raise BadInput(str(error)) from None
    finally:
        await reader.close()
    style = files("training_console").joinpath("static", "console.css").read_text()
    text = templates.get_template("export.html").render(
        **context,
        fragments=fragments,
        lines=lines,
        curves=curves(line.text for line in lines if line.replica == lines[0].replica),
        ranks=ranks(job.resource.kind, stored),
        yaml=yaml_lines(job.resource.kind, stored),
        style=style,
        run=run,
    )
    return LINK.sub("", text)
