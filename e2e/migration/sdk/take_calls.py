"""Whether the SDK `kubeflow` takes the calls of a program: `python -m e2e.migration.sdk.take_calls < PROGRAM`.

In the SDK's environment. Nothing is called: each call of the client and of what it is given is bound to its signature.
Prints the names of what was bound.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from typing import Any

from kubeflow.trainer import TrainerClient


def main(code: str) -> None:
    """Bind every call; raises TypeError or AttributeError for one that the SDK does not take."""
    tree = ast.parse(code)
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubeflow.trainer"):
            module = importlib.import_module(str(node.module))
            names |= {alias.name: getattr(module, alias.name) for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute):
            name = f"TrainerClient.{node.func.attr}"
            known, given = getattr(TrainerClient, node.func.attr), [None, *node.args]
        else:
            name = ast.unparse(node.func)
            known, given = names[name], list(node.args)
        inspect.signature(known).bind(*given, **{str(each.arg): each.value for each in node.keywords})
        print(name)


if __name__ == "__main__":
    main(sys.stdin.read())
