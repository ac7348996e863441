"""What the SDK's `train()` needs of the package `transformers`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class TrainingArguments:
    """Settings of a trainer, as far as the test gives any."""

    output_dir: str = "out"
    num_train_epochs: float = 3.0
    learning_rate: float = 5e-5
    per_device_train_batch_size: int = 8

    def to_dict(self) -> dict[str, Any]:
        """The settings."""
        return asdict(self)


class AutoModelForSequenceClassification:
    """A sort of model; the SDK sends its name."""


class AutoModelForTokenClassification:
    """See above; this one and those below appear in an annotation only."""


class AutoModelForQuestionAnswering:
    """See above."""


class AutoModelForCausalLM:
    """See above."""


class AutoModelForMaskedLM:
    """See above."""


class AutoModelForImageClassification:
    """See above."""
