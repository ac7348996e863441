"""`python -m e2e.monitoring` writes what is generated in deploy/monitoring; `... picture` draws the dashboard."""

from __future__ import annotations

import asyncio
import sys

from e2e.monitoring import dashboard, picture, rules


def main(arguments: list[str]) -> int:
    """Write the files, or run everything for three minutes and draw what the panels show."""
    if arguments == ["picture"]:
        picture.FILE.write_text(asyncio.run(picture.drawn_from_life()), encoding="utf-8")
    elif not arguments:
        dashboard.FILE.write_text(dashboard.dashboard(), encoding="utf-8")
        rules.FILE.write_text(rules.prometheus_rule(), encoding="utf-8")
    else:
        print("usage: python -m e2e.monitoring [picture]", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
