"""`python -m e2e.bench.curve`: how the operator's figures grow with jobs, replicas, and finished pods.

Each size is measured once, on a bare control plane; a start among finished pods, which is short, three times. Sizes
that are not measured (`--points`, `--largest`) are computed from the last two that are, on a straight line, and marked.
`--keep` writes the numbers and the picture to docs/; curves that were not measured stay as they are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

import uvloop
from e2e.bench.curve.points import FIGURES, GROWTH, SIZES, Point, extended, growth
from e2e.bench.many.finished import fill, floor, start
from e2e.bench.many.many import ManyJobs
from e2e.harness.bare import ControlPlane, control_plane
from e2e.harness.client import connect
from e2e.harness.environment import environment
from e2e.harness.errors import told
from e2e.support.paths import ROOT

HERE = Path(__file__).parent
KEPT = ROOT / "docs" / "pictures" / "curve"
"""Where the picture (`.svg`) and its numbers (`.json`) are kept."""
STARTS = 3
"""So many starts, and floors, of which the median counts: 9,000 pods take less than two starts may differ by."""


async def _placed(plane: ControlPlane, folder: Path, jobs: int, pods: int) -> tuple[float, ...]:
    async with connect(plane.cluster.kubeconfig) as api:
        many = ManyJobs(plane.cluster, api, folder, jobs, pods)
        found = await many.round(await many.warm_up())
    return (found.ratio, found.running_lag_s, found.succeeded_lag_s, found.cpu_ms_per_pod, found.peak_memory_mb)


async def _started(plane: ControlPlane, folder: Path, pods: int) -> tuple[float, ...]:
    async with connect(plane.cluster.kubeconfig) as api:
        await fill(plane, api, folder, pods)
        await floor(plane.cluster)  # not counted: it warms the server
        received = [await floor(plane.cluster) for _ in range(STARTS)]
        found = [await start(plane.cluster, folder / f"operator-start-{number}.log") for number in range(STARTS)]
    figures = ([each.synced_s for each in found], [each.cpu_s for each in found], [each.peak_mb for each in found])
    return tuple(map(median, (received, *figures)))


def measure(family: str, size: int) -> Point:
    """Measure one size, on a control plane of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="training-bench-") as name,
        control_plane("--terminated-pod-gc-threshold=0") as plane,
    ):
        folder = Path(name)
        match family:
            case "jobs":
                figures = uvloop.run(_placed(plane, folder, size, 2))
            case "replicas":
                figures = uvloop.run(_placed(plane, folder, 1, size))
            case _:
                figures = uvloop.run(_started(plane, folder, size))
    return Point(size, figures)


def say(family: str, points: Sequence[Point]) -> None:
    """Print the points of one family, and how the cost of a unit grows."""
    columns = FIGURES[family]
    print(f"\n| {family} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for point in points:
        note = " (computed)" if point.computed else ""
        print(f"| {point.size:,}{note} | {' | '.join(f'{figure:.2f}' for figure in point.figures)} |")
    for number, name in enumerate(columns):
        if (grown := growth(points, name, number)) is not None and not name.startswith(("lag", "floor")):
            verdict = "met" if grown <= GROWTH else "MISSED"
            print(
                f"cost of a unit, {name}: {grown:+.0%} from the second size to the last  (<= {GROWTH:+.0%})  {verdict}"
            )
    sys.stdout.flush()


def keep(found: Mapping[str, Sequence[Point]], place: Path) -> None:
    """Write the numbers, and draw them; curves that were not measured stay as they are."""
    numbers = place.with_suffix(".json")
    drawn = json.loads(numbers.read_text()) | {
        family: {"figures": FIGURES[family], "points": [asdict(point) for point in points]}
        for family, points in found.items()
    }
    numbers.write_text(json.dumps(drawn, indent=1) + "\n")
    draw(numbers, place.with_suffix(".svg"))


def draw(numbers: Path, picture: Path) -> None:
    """Draw the numbers, with the matplotlib of an environment of its own."""
    python = environment("curve", HERE / "constraints.txt") / "python"
    subprocess.run([str(python), str(HERE / "draw.py"), str(numbers), str(picture)], check=True)


def main() -> None:
    """Measure and print; the exit status tells only whether the measurement could be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.curve", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="jobs|replicas|finished", help="which curves (default: all)")
    parser.add_argument("--points", type=int, default=99, help="measure so many sizes of each (default: all)")
    parser.add_argument("--largest", type=int, default=10**9, help="measure no larger size (default: all)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.relative_to(ROOT)}.json and .svg")
    given = parser.parse_args()
    if unknown := set(given.families) - set(SIZES):
        parser.error(f"there is no curve of {', '.join(sorted(unknown))}: choose of {', '.join(SIZES)}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    found: dict[str, list[Point]] = {}
    with told("curve"):
        for family in given.families or SIZES:
            sizes = [size for size in SIZES[family][: given.points] if size <= given.largest]
            found[family] = extended([measure(family, size) for size in sizes], SIZES[family])
            say(family, found[family])
        if given.keep:
            keep(found, KEPT)


if __name__ == "__main__":
    main()
