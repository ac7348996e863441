"""Opens pages of a console with Chromium and prints as JSON how long each took.

`python -m e2e.console.times ADDRESS - PATH...`; it runs in the environment of `e2e.migration.page`.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from e2e.console.look import SIZES, TIMES, opened
from e2e.migration.page.look import browser, resize

ROUNDS: Final = 3


def main(address: str, _folder: str, *paths: str) -> None:
    """Open each page some times, and print milliseconds until the server answered, and until the page could be used."""
    driver = browser()
    resize(driver, *SIZES["wide"])
    told = {}
    for path in paths:
        rounds = []
        for _ in range(ROUNDS):
            opened(driver, address + path)
            rounds.append(driver.execute_script(TIMES))
        told[path] = rounds
    driver.quit()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
