"""The builtin resource types: their Go shapes, defaults, validation and columns."""
