"""Draws docs/pictures/dashboard.svg: what the panels show of a real run, three minutes with some hundred jobs.

The run is kept in `recording.json`, so that a change of titles or of the drawing needs no new one.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from e2e.harness.bare import bare
from e2e.harness.client import connect
from e2e.harness.jobs import Namespace, typical
from e2e.harness.operator import running_operator
from e2e.harness.recordings import write
from e2e.integrations.monitoring.dashboard import PANELS, Panel
from e2e.integrations.monitoring.prometheus import Prometheus, expanded, scraping
from e2e.integrations.monitoring.workload import FATES, live, succeed
from e2e.support.paths import ROOT

FILE: Final = ROOT / "docs" / "pictures" / "dashboard.svg"
RECORDING: Final = Path(__file__).with_name("recording.json")
SERIES: Final = 2
"""Depth of the series in the recording: one list for each query."""
SECONDS: Final = 150
"""Jobs are created during these seconds; the last ones end a little later."""
STEP: Final = 3.0
NAMESPACES: Final = ("team-a", "team-b")
FULL: Final = "team-c"

WIDTH, HEIGHT, COLUMNS = 400, 220, 3
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 34, 58
COLOURS: Final = (
    *("#2f7ed8", "#d9822b", "#3a9d5d", "#c23030", "#8f5cc7", "#8a6d5a", "#d667ae", "#7a7a7a"),
    *("#a9a432", "#2aa5b8"),
)
UNITS: Final[dict[str, Callable[[float], str]]] = {
    "short": lambda value: f"{value:.0f}",
    "s": lambda value: f"{value:.3g} s",
    "ops": lambda value: f"{value:.3g}/s",
    "bytes": lambda value: f"{value / 2**20:.0f} MiB",
    "percentunit": lambda value: f"{value:.0%}",
}
Series = tuple[str, list[tuple[float, float]]]
"""Its name, and moments in seconds since the beginning with values."""
Recording = Mapping[str, Sequence[Mapping[str, Any]]]
"""The series of each query, with their labels and values."""


def svg() -> str:
    """Return the picture of the recorded run."""
    seen = json.loads(RECORDING.read_text())
    return picture([(panel, shown(seen, panel)) for panel in PANELS])


async def record() -> None:
    """Run a control plane, the operator, a Prometheus and jobs; keep what the queries of the panels return then."""
    with tempfile.TemporaryDirectory(prefix="training-monitoring-") as folder, bare() as cluster:
        flags = ("--leader-elect", "--operator-namespace=default")
        with (
            running_operator(cluster.kubeconfig, Path(folder) / "operator.log", *flags) as operator,
            scraping(urlsplit(operator.metrics).netloc, Path(folder)) as prometheus,
        ):
            begin = time.time()
            await _work(cluster.kubeconfig)
            end = time.time()
            queries = [query.expression for panel in PANELS for query in panel.queries]
            write(RECORDING, {each: _recorded(prometheus, each, begin, end) for each in queries}, SERIES)


def _recorded(prometheus: Prometheus, expression: str, begin: float, end: float) -> list[dict[str, Any]]:
    return [
        {
            "labels": {name: value for name, value in each["metric"].items() if name != "__name__"},
            "values": [
                (round(float(moment) - begin), float(f"{float(value):.4g}"))
                for moment, value in each["values"]
                if value != "NaN"
            ],
        }
        for each in prometheus.query_range(expanded(expression), begin, end, STEP)
    ]


async def _work(kubeconfig: Path) -> None:
    """Create jobs at random moments, most of which succeed, after one for whose pods the quota has no room."""
    rng = random.Random(1)
    async with connect(kubeconfig) as api, asyncio.TaskGroup() as tasks:
        for name in NAMESPACES:
            await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        await api.create("/api/v1/namespaces", {"metadata": {"name": FULL}})
        quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": "0"}}}
        await api.create(f"/api/v1/namespaces/{FULL}/resourcequotas", quota)
        await Namespace(api, FULL).create(typical("waits", "PyTorchJob"))
        for number in range(SECONDS):
            kind, fate = rng.choice(list(FATES.items()))
            jobs, fate = Namespace(api, rng.choice(NAMESPACES)), rng.choice((fate, succeed))
            pause, work = rng.uniform(0.5, 8), rng.expovariate(1 / 20)
            tasks.create_task(live(jobs, f"job-{number}", kind, fate, pause=pause, work=work))
            await asyncio.sleep(rng.expovariate(1))


def shown(seen: Recording, panel: Panel) -> list[Series]:
    """The series of a panel, named as its legend says.

    Numbers and tables are those of the moment at which the last job was created: most have ended since.
    """
    found: list[Series] = []
    for query in panel.queries:
        for each in seen[query.expression]:
            points = [(moment, value) for moment, value in each["values"]]
            if panel.type != "timeseries":
                points = [point for point in points if SECONDS - 2 * STEP < point[0] <= SECONDS]
            if points:
                found.append((_named(query.legend, each["labels"]), points))
    return found


def _named(legend: str, labels: dict[str, str]) -> str:
    for label, value in labels.items():
        legend = legend.replace(f"{{{{{label}}}}}", value)
    return legend


def picture(panels: Sequence[tuple[Panel, list[Series]]]) -> str:
    """All panels as one SVG."""
    rows = -(-len(panels) // COLUMNS)
    end = max(moment for _, series in panels for _, line in series for moment, _ in line)
    width, height = COLUMNS * WIDTH, rows * HEIGHT
    drawn = (
        f'<g transform="translate({number % COLUMNS * WIDTH} {number // COLUMNS * HEIGHT})">{_panel(*each, end)}</g>\n'
        for number, each in enumerate(panels)
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10" fill="#333">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
    )
    return f"{head}{''.join(drawn)}</svg>\n"


def _panel(panel: Panel, series: list[Series], longest: float) -> str:
    if panel.type != "timeseries":
        return _newest(panel, series)
    highest = max((value for _, line in series for _, value in line), default=1.0) or 1.0
    if panel.unit == "short":
        highest = max(2 * math.ceil(highest / 2), 2)  # so that half of it is a whole number

    def place(moment: float, value: float) -> tuple[float, float]:
        across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + moment / longest * across, HEIGHT - BOTTOM - value / highest * up

    parts = [f'<text x="{LEFT}" y="20" font-size="13" font-weight="bold">{escape(panel.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        _, y = place(0, share * highest)
        label = UNITS[panel.unit](share * highest)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 3:.1f}" text-anchor="end">{label}</text>')
    for share in (0.0, 0.5, 1.0):
        x, y = place(share * longest, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle">{share * longest:.0f} s</text>')
    parts += [_line(line, COLOURS[at % len(COLOURS)], place) for at, (_, line) in enumerate(series)]
    return "".join([*parts, *_legend([name for name, _ in series])])


def _newest(panel: Panel, series: list[Series]) -> str:
    """The newest value of each series with its name, large where there are few."""
    size = 26 if panel.type == "stat" else 12
    parts = [f'<text x="{LEFT}" y="20" font-size="13" font-weight="bold">{escape(panel.title)}</text>']
    for at, (name, line) in enumerate(series[: (HEIGHT - TOP) // (size + 8)]):
        y = TOP + 10 + (at + 0.6) * (size + 8)
        value = UNITS[panel.unit](line[-1][1])
        parts.append(f'<text x="{LEFT + 60}" y="{y:.1f}" font-size="{size}" text-anchor="end">{value}</text>')
        parts.append(f'<text x="{LEFT + 72}" y="{y:.1f}" font-size="12">{escape(name)}</text>')
    return "".join(parts)


def _line(line: list[tuple[float, float]], colour: str, place: Callable[[float, float], tuple[float, float]]) -> str:
    """Points that follow each other are joined; where there is nothing for a while there is a gap."""
    path, last = [], -1e9
    for moment, value in line:
        x, y = place(moment, value)
        path.append(f"L{x:.1f} {y:.1f}" if moment - last < 2 * STEP else f"M{x:.1f} {y:.1f}h1")
        last = moment
    return f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _legend(names: list[str]) -> list[str]:
    parts, x, y = [], float(LEFT), HEIGHT - BOTTOM + 30.0
    for at, name in enumerate(names):
        width = 22 + 5.4 * len(name)
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, y = float(LEFT), y + 13
        parts.append(f'<rect x="{x:.1f}" y="{y - 6:.1f}" width="8" height="3" fill="{COLOURS[at % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 11:.1f}" y="{y:.1f}">{escape(name)}</text>')
        x += width
    return parts
