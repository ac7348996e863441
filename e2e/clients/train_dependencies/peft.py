"""What the SDK's `train()` needs of the package `peft`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class LoraConfig:
    """Settings of an adapter, as far as the test gives any."""

    r: int = 8
    lora_alpha: int = 8
    target_modules: frozenset[str] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """The settings; `peft` has a set among them, which the SDK must be able to encode."""
        return asdict(self) | {"target_modules": set(self.target_modules)}
