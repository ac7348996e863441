"""A real Prometheus that scrapes one operator and knows the alerts."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.binaries import PROMETHEUS, programs
from e2e.harness.ports import free_ports
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until
from e2e.integrations.monitoring.rules import PLAIN

WINDOW: Final = "15s"
"""What `$__rate_interval` stands for here: several scrapes."""


@dataclass(slots=True)
class Selected:
    """What an expression asks for."""

    metrics: dict[str, set[str]] = field(default_factory=dict)
    """Labels that are matched, by metric."""
    grouping: set[str] = field(default_factory=set)
    """Labels that results are grouped by."""


class Prometheus:
    """The HTTP API of a running Prometheus."""

    def __init__(self, address: str) -> None:
        self.address = address

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression has now."""
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def scrapes(self) -> bool:
        """Whether it has scraped the operator; it begins some seconds after it is ready."""
        try:
            return bool(self.query("up == 1"))
        except OSError:  # not listening yet, or still starting
            return False

    def query_range(self, expression: str, begin: float, end: float, step: float) -> list[dict[str, Any]]:
        """Return the series of an expression over time, as seconds since 1970 and values."""
        found: list[dict[str, Any]] = self._get(
            "query_range", query=expression, start=str(begin), end=str(end), step=str(step)
        )["result"]
        return found

    def labels(self, metric: str) -> set[str]:
        """Return the labels of all series of a metric that were scraped lately; none if there were none."""
        return {label for series in self.query(f"last_over_time({metric}[10m])") for label in series["metric"]}

    def rules(self) -> list[dict[str, Any]]:
        """Return the alerts with their health."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def selected(self, expression: str) -> Selected:
        """Return what an expression asks for, as Prometheus's own parser sees it."""
        selected = Selected()
        _walk(self._get("parse_query", query=expression), selected)
        return selected

    def _get(self, what: str, **parameters: str) -> Any:
        body = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.address}/api/v1/{what}?{body}", timeout=30) as answer:
            return json.load(answer)["data"]


def _walk(node: Any, selected: Selected) -> None:
    if isinstance(node, list):
        for each in node:
            _walk(each, selected)
    elif isinstance(node, Mapping):
        if node.get("type") in ("vectorSelector", "matrixSelector"):
            labels = {matcher["name"] for matcher in node["matchers"]} - {"__name__"}
            selected.metrics.setdefault(node["name"], set()).update(labels)
        selected.grouping.update(node.get("grouping") or ())
        for each in node.values():
            _walk(each, selected)


def expanded(expression: str) -> str:
    """The expression with what Grafana puts in for its variables: everything, and a window of time."""
    text = expression.replace("$__rate_interval", WINDOW)
    for variable in ("job_namespace", "framework", "job"):
        text = text.replace(f"${variable}", ".*")
    return text


@contextmanager
def scraping(target: str, folder: Path) -> Iterator[Prometheus]:
    """Scrape `target` (host and port) every second while the context lasts; what is stored lies in `folder`."""
    (port,) = free_ports(1)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(PLAIN)],
        "scrape_configs": [{"job_name": "training-operator", "static_configs": [{"targets": [target]}]}],
    }
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(config))
    command = [
        str(programs((PROMETHEUS,))["prometheus"]),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    child = Child(command, folder / "prometheus.log")
    prometheus = Prometheus(f"http://127.0.0.1:{port}")
    try:
        wait_until(prometheus.scrapes, "Prometheus", [child])
        yield prometheus
    finally:
        child.kill()  # nothing of it is kept
