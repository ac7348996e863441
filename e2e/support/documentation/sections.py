"""Parts of pages that are generated: what stands between two comments, which readers do not see."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from e2e.support.documentation.api_reference import kind_reference, type_reference
from e2e.support.documentation.compatibility import compatibility
from e2e.support.documentation.environment import environment_table
from e2e.support.documentation.exits import exits
from e2e.support.documentation.flags import flags
from e2e.support.documentation.lease import lease
from e2e.support.documentation.permissions import permissions
from e2e.support.documentation.rules import rules
from e2e.support.documentation.what_runs import what_runs
from e2e.support.every_kind import EVERY_KIND

from training_api.registry import KINDS

GENERATED: Final = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end of generated -->)", re.DOTALL)

SECTIONS: Final[Mapping[str, Callable[[], str]]] = {
    **{f"reference of {kind}": partial(kind_reference, info) for kind, info in KINDS.items()},
    **{f"environment of {kind}": partial(environment_table, kind) for kind in EVERY_KIND},
    "compatibility": compatibility,
    "exit statuses": exits,
    "reference of types": type_reference,
    "flags": flags,
    "lease": lease,
    "permissions": permissions,
    "rules": rules,
    "what runs": what_runs,
}
"""What can be generated, by the name that stands in the comment."""


class UnknownSection(Exception):
    """A comment asks for something that is not generated."""


def rendered(text: str) -> str:
    """The page with its generated parts as they are now; raises `UnknownSection`."""
    return GENERATED.sub(_renewed, text)


def _renewed(part: re.Match[str]) -> str:
    section = SECTIONS.get(part[2])
    if section is None:
        raise UnknownSection(f"there is no section {part[2]!r}; known are {', '.join(SECTIONS)}")
    return f"{part[1]}\n{section().strip()}\n\n{part[3]}"
