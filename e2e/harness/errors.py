"""What a developer is told when no control plane can be had."""


class HarnessError(Exception):
    """A test cluster cannot be provided; the message is one sentence that says why and what would help."""
