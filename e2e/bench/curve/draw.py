"""`draw.py NUMBERS.json PICTURE.svg`: the curve as a picture; runs where matplotlib is, and needs nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

UNITS = {"jobs": "jobs of two pods", "replicas": "replicas of one job", "finished": "finished pods"}


def main(numbers: str, picture: str) -> None:
    """Draw each figure of each family over the size; what was computed is a hollow mark on a dashed line."""
    found = json.loads(Path(numbers).read_text())
    mpl.rcParams.update({"svg.hashsalt": "curve", "svg.fonttype": "none", "font.size": 8})
    most = max(len(family["figures"]) for family in found.values())
    figure, axes = plt.subplots(len(found), most, figsize=(2.6 * most, 2.2 * len(found)), squeeze=False)
    for row, (name, family) in zip(axes, found.items(), strict=True):
        for number, axis in enumerate(row):
            if number >= len(family["figures"]):
                axis.axis("off")
                continue
            _draw(axis, family["points"], number)
            axis.set(title=family["figures"][number], xlabel=UNITS[name])
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def _draw(axis: plt.Axes, points: list[dict[str, Any]], number: int) -> None:
    measured = [point for point in points if not point["computed"]]
    computed = [point for point in points if point["computed"]]
    for part, style in ((measured, {"marker": "o"}), ([*measured[-1:], *computed], {"linestyle": "--"})):
        axis.plot([p["size"] for p in part], [p["figures"][number] for p in part], color="tab:blue", **style)
    axis.scatter(
        [p["size"] for p in computed],
        [p["figures"][number] for p in computed],
        facecolors="none",
        edgecolors="tab:blue",
    )
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
