"""Jobs that are run on one side or both, and what was seen of them."""
