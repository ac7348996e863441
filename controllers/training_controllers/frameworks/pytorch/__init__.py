"""PyTorchJob."""
