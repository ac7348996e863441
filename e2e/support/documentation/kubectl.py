"""What pages use of kubectl's command line; `e2e/tools/test_documented_commands.py` compares it with kubectl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from e2e.support.documentation.options import Wrong, positionals
from e2e.support.every_kind import EVERY_KIND

from training_local.apiserver.types import BUILTIN

GLOBAL: Final = "--kubeconfig= --namespace= -n="
VERBS: Final = {
    "apply": "-f= -k= --server-side --force-conflicts",
    "auth can-i": "",
    "auth whoami": "",
    "cordon": "",
    "cp": "-c=",
    "create namespace": "",
    "create token": "",
    "delete": "-f= -k= -l= --cascade= --ignore-not-found",
    "describe": "",
    "drain": "",
    "exec": "-c= -i -t",
    "explain": "",
    "get": "-A -f= -k= -l= -o= -w --field-selector= --no-headers",
    "label": "",
    "logs": "-c= -f -l= -p --prefix --previous --tail=",
    "patch": "-p= --patch= --type=",
    "port-forward": "",
    "scale": "--replicas=",
    "top node": "",
    "top pod": "--containers",
    "wait": "--for= --timeout=",
}
"""Options of each verb; those with `=` take a value."""
TYPED: Final = ("delete", "describe", "explain", "get", "label", "patch", "scale", "wait")
"""Verbs whose first argument is a type, or several, or TYPE/NAME."""
LABEL: Final = r"training\.kubeflow\.org/(job-name|job-role|operator-name|replica-index|replica-type)=[\w-]+"
VALUES: Final = {
    "--cascade": "background|foreground|orphan",
    "--field-selector": r"reason=\w+",
    "--for": r"condition=[A-Z]\w+|delete|jsonpath=.+",
    "--type": "json|merge|strategic",
    "-l": f"{LABEL}(,{LABEL})*",
    "-o": "json|name|wide|yaml|(custom-columns|jsonpath)=.+",
}
"""What values of options may be."""
WITHOUT_ARGUMENTS: Final = ("auth whoami", "top node", "top pod")
OTHER_TYPES: Final = frozenset(
    ["clusterqueue", "deployment", "validatingwebhookconfiguration", "workload", "workloads"]
)
"""Types that pages name and that neither we nor the embedded API server have."""


@cache
def types() -> frozenset[str]:
    """Names by which kubectl knows the types of pages."""
    builtin = {name for type in BUILTIN for name in (type.plural, type.singular, *type.short_names)}
    ours = {name for info in EVERY_KIND.values() for name in (info.plural, info.singular, *info.short_names)}
    return OTHER_TYPES | builtin | ours


def options(verb: str) -> dict[str, str | None]:
    """The options of a verb."""
    texts = (*GLOBAL.split(), *VERBS[verb].split())
    return {text.rstrip("="): "any" if text.endswith("=") else None for text in texts}


def parse(words: Sequence[str], *, whole: bool) -> list[str]:
    """Check the words behind `kubectl` and return the files that are named; raises `Wrong`."""
    rest = list(words[2:] if words[:1] == ["-n"] else words)
    verb = next((" ".join(rest[:count]) for count in (2, 1) if " ".join(rest[:count]) in VERBS), None)
    if verb is None:
        raise Wrong(f"no verb {' '.join(rest[:2])}; pages may use {', '.join(VERBS)}")
    left, values = positionals(rest[len(verb.split()) :], options(verb), whole=whole)
    for name, pattern in VALUES.items():
        for value in values.get(name, ()):
            if not re.fullmatch(pattern, value):
                raise Wrong(f"{name} is not {value} but {pattern}")
    if verb in TYPED and left:
        named = [each.partition("/")[0] for each in (left if "/" in left[0] else left[0].split(","))]
        if unknown := [name for name in named if name.lower() not in types()]:
            raise Wrong(f"no type {', '.join(unknown)}")
    files = [file for name in ("-f", "-k") if verb != "logs" for file in values.get(name, ()) if file != "-"]
    piped = verb != "logs" and "-" in values.get("-f", ())
    if whole and verb not in WITHOUT_ARGUMENTS and not (left or files or piped or "-l" in values):
        raise Wrong(f"kubectl {verb} needs more")
    return files
