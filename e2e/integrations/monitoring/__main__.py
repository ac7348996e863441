"""`python -m e2e.integrations.monitoring` writes what is generated in deploy/monitoring; `... picture` draws it."""

from __future__ import annotations

import argparse
import asyncio

from e2e.integrations.monitoring import dashboard, picture, rules


def main() -> None:
    """Write the files, or run everything for three minutes and draw what the panels show."""
    parser = argparse.ArgumentParser(prog="python -m e2e.integrations.monitoring", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("files", "picture"), default="files")
    if parser.parse_args().what == "picture":
        picture.FILE.write_text(asyncio.run(picture.drawn_from_life()), encoding="utf-8")
    else:
        dashboard.FILE.write_text(dashboard.dashboard(), encoding="utf-8")
        rules.FILE.write_text(rules.prometheus_rule(), encoding="utf-8")


if __name__ == "__main__":
    main()
