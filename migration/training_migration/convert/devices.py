"""How many processes a node starts: what v1 leaves to torchrun, and what v2 makes of the resources."""

from __future__ import annotations

import re
from math import ceil
from typing import Any, Final

from training_api.quantity import parse
from training_migration.convert.context import Json

ACCELERATOR: Final = re.compile(
    r"mig-|tpu|gaudi|habana|neuron|npu|xpu|mlu|dcu|gcu|hpu|ascend|accelerator", re.IGNORECASE
)
"""In names of resources that stand for accelerators without saying gpu."""


def gpus(container: Json) -> int:
    """Those that v2 counts: resources whose name holds the letters gpu."""
    return _sum(container, lambda name: "gpu" in name)


def other_accelerators(container: Json) -> dict[str, int]:
    """Accelerators that v2 does not take for any, by name of the resource."""
    amounts = _amounts(container)
    return {
        name: _number(value)
        for name, value in amounts.items()
        if "/" in name and "gpu" not in name.lower() and ACCELERATOR.search(name)
    }


def cpus(container: Json) -> int:
    """What v2 makes of the CPUs: the request, else the limit, rounded up, at least 1."""
    resources = container.get("resources") or {}
    request = (resources.get("requests") or {}).get("cpu")
    value = request if request is not None and _number(request) else (resources.get("limits") or {}).get("cpu")
    return max(1, _number(value)) if value is not None else 1


def _amounts(container: Json) -> dict[str, Any]:
    resources = container.get("resources") or {}
    return {**(resources.get("requests") or {}), **(resources.get("limits") or {})}


def _sum(container: Json, wanted: Any) -> int:
    return sum(_number(value) for name, value in _amounts(container).items() if wanted(name.lower()))


def _number(quantity: Any) -> int:
    try:
        return ceil(parse(str(quantity)))
    except ValueError:
        return 0
