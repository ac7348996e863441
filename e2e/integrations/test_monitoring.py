"""Dashboard and alerts of deploy/monitoring, with Prometheus's own programs and an operator that has work to do."""

from __future__ import annotations

import asyncio
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from e2e.harness.binaries import PROMETHEUS, programs
from e2e.harness.client import eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace
from e2e.harness.operator import Operator, running_operator
from e2e.integrations.monitoring import dashboard, rules, workload
from e2e.integrations.monitoring.prometheus import Prometheus, expanded, scraping

HERE = Path(__file__).parent
QUERIES = [query.expression for panel in dashboard.PANELS for query in panel.queries]


def promtool(*arguments: str, stdin: bytes | None = None) -> str:
    """What promtool prints; fails if it finds anything wrong."""
    command = [str(programs((PROMETHEUS,))["promtool"]), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def test_the_generated_files_are_current() -> None:
    assert dashboard.FILE.read_text() == dashboard.dashboard(), "run `python -m e2e.integrations.monitoring`"
    assert rules.FILE.read_text() == rules.prometheus_rule(), "run `python -m e2e.integrations.monitoring`"


def test_the_alerts_are_valid_and_fire_when_they_should() -> None:
    promtool("check", "rules", "--lint=all", "--lint-fatal", str(rules.PLAIN))
    tests = HERE / "monitoring" / "alerts.test.yaml"
    promtool("test", "rules", str(tests))
    fired = {
        case["alertname"]
        for test in yaml.safe_load(tests.read_text())["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    assert fired == {alert["alert"] for alert in rules.alerts()}, "an alert of which no test shows that it fires"


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator that leads, so that it says so."""
    flags = ("--leader-elect", "--operator-namespace=default", "--leader-election-id=monitoring")
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with running_operator(cluster.kubeconfig, log, *flags) as operator:
        yield operator


@pytest.fixture(scope="module")
def prometheus(operator: Operator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with scraping(urlsplit(operator.metrics).netloc, tmp_path_factory.mktemp("prometheus")) as prometheus:
        yield prometheus


async def test_every_panel_shows_something(operator: Operator, prometheus: Prometheus, jobs: Namespace) -> None:
    begin = time.time()
    lives = (
        workload.live(jobs, f"job-{number}", kind, fate) for number, (kind, fate) in enumerate(workload.FATES.items())
    )
    await asyncio.gather(*lives, workload.live(jobs, "running", "PyTorchJob", workload.go_on))
    for query in QUERIES:

        async def shown(query: str = query) -> bool:
            return bool(await asyncio.to_thread(prometheus.query_range, expanded(query), begin, time.time(), 1.0))

        await eventually(shown, f"a result of {query}")

    promtool("check", "metrics", stdin=await asyncio.to_thread(scrape, operator))
    for expression in (*map(expanded, QUERIES), *(alert["expr"] for alert in rules.alerts())):
        selected = await asyncio.to_thread(prometheus.selected, expression)
        assert selected.metrics
        known = set[str]()
        for metric, matched in selected.metrics.items():
            labels = await asyncio.to_thread(prometheus.labels, metric)
            assert labels, f"{expression} asks for {metric}, which was never scraped"
            assert matched <= labels, f"{expression} asks for labels that {metric} does not have"
            known |= labels
        assert selected.grouping <= known, f"{expression} groups by labels that are not there"
    assert [rule["lastError"] for rule in await asyncio.to_thread(prometheus.rules) if rule["health"] != "ok"] == []


def scrape(operator: Operator) -> bytes:
    """What the operator serves."""
    with urllib.request.urlopen(operator.metrics, timeout=30) as answer:
        text: bytes = answer.read()
    return text
