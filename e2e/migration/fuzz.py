"""`python -m e2e.migration.fuzz [--mutations N] [--seed S]`: every verb of `migrate` with objects that are broken.

Some seven minutes for 30,000. What goes wrong is printed by place, with the first input that did it, and makes it fail.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from e2e.support.migration_fuzz import Trouble, fuzz


def main() -> int:
    """Mutate until the number is reached."""
    parser = argparse.ArgumentParser(prog="python -m e2e.migration.fuzz", description="Broken objects and all verbs.")
    parser.add_argument("--mutations", type=int, default=8000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="default: another one each time")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    found: dict[str, list[Trouble]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="training-migration-") as folder:
        for trouble in fuzz(arguments.seed, arguments.mutations, Path(folder)):
            found[trouble.where].append(trouble)
    for where, troubles in found.items():
        print(f"{len(troubles)} times {where} ({troubles[0].verb}):\n{troubles[0].text}\n")
    print(f"{arguments.mutations} mutations, {sum(map(len, found.values()))} troubles in {len(found)} places")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
