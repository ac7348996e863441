"""`python -m e2e.integrations.monitoring` writes what is generated in deploy/monitoring, and draws the dashboard.

`... record` runs everything for three minutes first, for a new picture.
"""

from __future__ import annotations

import argparse
import asyncio

from e2e.integrations.monitoring import dashboard, picture, rules


def main() -> None:
    """Write the files, of a new run if that is wanted."""
    parser = argparse.ArgumentParser(prog="python -m e2e.integrations.monitoring", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("files", "record"), default="files")
    if parser.parse_args().what == "record":
        asyncio.run(picture.record())
    dashboard.FILE.write_text(dashboard.dashboard(), encoding="utf-8")
    rules.FILE.write_text(rules.prometheus_rule(), encoding="utf-8")
    picture.FILE.write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
