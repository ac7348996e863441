"""docs/metrics.md names every metric with its labels, and every alert; nothing else."""

from __future__ import annotations

import re

import pytest
import yaml
from e2e.support.paths import ROOT

from training_api.registry import KINDS
from training_controllers.decide.measures import JobPhase, Measures, RestartCause
from training_controllers.model.plan import Counter
from training_operator.metrics import Metrics
from training_operator.queue import WorkQueue

PAGE = (ROOT / "docs" / "metrics.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \|([\w, ]*)\|", re.MULTILINE)


def everything() -> Metrics:
    """Metrics of which every one has a sample."""
    metrics, info = Metrics(), KINDS["JAXJob"]
    counters = metrics.job_counters(info)
    for counter in Counter:
        counters.count_job(counter, "team")
    counters.measure(Measures(1, 2, restarts={RestartCause.FAILURE: 1}), "team")
    metrics.count_disruption(info, "team")
    metrics.jobs(info, lambda: [("team", JobPhase("running", "Unschedulable"))])
    metrics.controller("jaxjob-controller", 1)
    queue = WorkQueue[str](lambda: 0.0)
    metrics.queue("jaxjob-controller", lambda: queue)
    metrics.count_request("GET", 200)
    metrics.leader("lease")
    metrics.undecodable("pods")
    return metrics


@pytest.mark.shows("K-25", "INT-106", "INT-108")
def test_every_metric_is_on_the_page_with_its_labels() -> None:
    served = {}
    for family in everything().registry.collect():
        assert family.samples, f"{family.name} has no sample here"
        name = f"{family.name}_total" if family.type == "counter" else family.name
        served[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    described = {name: set(labels.replace(" ", "").split(",")) - {""} for name, labels in ROW.findall(PAGE)}
    assert described == served


def test_every_alert_is_on_the_page() -> None:
    groups = yaml.safe_load((ROOT / "deploy" / "monitoring" / "alerts.yaml").read_text())["groups"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"]]
    assert re.findall(r"^\| (Training\w+) \|", PAGE, re.MULTILINE) == alerts
