"""Jobs of v1 inside of other objects: found, and converted in place where the format allows it."""
