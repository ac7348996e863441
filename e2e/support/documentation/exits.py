"""How the verbs of `migrate` end."""

from __future__ import annotations

from e2e.support.documentation.table import code, table

from training_migration.exits import BY_VERB, MEANINGS


def exits() -> str:
    """A line for each exit status, with the verbs that can end with it."""
    rows = (
        (str(status.value), said, ", ".join(code(verb) for verb, known in BY_VERB.items() if status in known))
        for status, said in MEANINGS.items()
    )
    return table(("status", "meaning", "of"), rows)
