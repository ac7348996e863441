"""With which API servers a test runs; with others it is left out."""

from __future__ import annotations

import pytest

bare = pytest.mark.provider("bare")
"""A control plane of processes, which the test may change, or whose programs it needs."""
local = pytest.mark.provider("local")
"""The embedded cluster, whose pods run; also for what needs no API server of others, so that it runs once."""
real = pytest.mark.provider("bare", "kind", "existing", "node")
"""Any API server of Kubernetes."""
