"""Run the example of every framework and print a table: `python -m e2e.tools.demos jax pytorch ...`."""

from __future__ import annotations

import sys

from e2e.tools.table import Step, run_all


def main() -> int:
    """Return 0 if every example ended well."""
    return run_all([Step(name, ["make", "--no-print-directory", "demo", f"FRAMEWORK={name}"]) for name in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
