"""The alerts as the Prometheus operator takes them, made of the plain rules file."""

from __future__ import annotations

from typing import Any, Final

import yaml
from e2e.integrations.monitoring.dashboard import FOLDER

PLAIN: Final = FOLDER / "alerts.yaml"
FILE: Final = FOLDER / "prometheus-rule.yaml"
HEADER: Final = "# Written by `python -m e2e.integrations.monitoring` from alerts.yaml.\n"


def alerts() -> list[dict[str, Any]]:
    """Return all alerts of the plain file."""
    return [rule for group in _groups() for rule in group["rules"]]


def prometheus_rule() -> str:
    """Return the PrometheusRule."""
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "training-operator", "labels": {"app": "training-operator"}},
        "spec": {"groups": _groups()},
    }
    return HEADER + yaml.safe_dump(rule, sort_keys=False, width=1000)


def _groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(PLAIN.read_text())["groups"]
    return groups
