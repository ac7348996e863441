"""A pytest plugin of all tests: hypothesis has the same examples in every run, or fresh ones (`make weekly`)."""

from __future__ import annotations

# Imported here also because hypothesis' plugin imports it at the very end if nobody has before, and there Python 3.11
# sometimes cannot parse it any more ("AST constructor recursion depth mismatch").
from typing import Final

from hypothesis import settings

REPEATABLE: Final = "repeatable"
settings.register_profile(REPEATABLE, derandomize=True, deadline=None, max_examples=50)
settings.register_profile("fresh", derandomize=False, deadline=None, database=None, max_examples=200)
settings.load_profile(REPEATABLE)
