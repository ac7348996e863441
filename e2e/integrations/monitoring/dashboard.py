"""The Grafana dashboard: which panels there are, and their JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from e2e.support.paths import ROOT

FOLDER: Final = ROOT / "deploy" / "monitoring"
FILE: Final = FOLDER / "dashboard.json"
COLUMNS: Final = 24
WIDTH: Final = 8
HEIGHT: Final = 7
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}

JOBS: Final = 'job=~"$job", job_namespace=~"$job_namespace", framework=~"$framework"'
KIND: Final = 'job=~"$job", framework=~"$framework"'
PROCESS: Final = 'job=~"$job"'
RATE: Final = "[$__rate_interval]"


@dataclass(frozen=True, slots=True)
class Query:
    """One expression, and how its series are called: `{{label}}` stands for a label's value."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A diagram over time, or the newest values: as numbers (`stat`) or as a table."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    """In Grafana's words: `s` for seconds, `ops` for so many per second, `bytes`."""
    help: str = ""
    type: str = "timeseries"


def _quantiles(metric: str, labels: str, by: str = "") -> tuple[Query, ...]:
    keys = f"{by}, le" if by else "le"
    return tuple(
        Query(
            f"histogram_quantile({quantile}, sum by ({keys}) (rate({metric}_bucket{{{labels}}}{RATE})))",
            " ".join(["{{" + by + "}}"] * bool(by) + [f"p{quantile * 100:.0f}"]),
        )
        for quantile in (0.5, 0.95)
    )


PANELS: Final = (
    Panel(
        "Jobs now",
        (
            Query(f'sum(training_operator_jobs{{{JOBS}, state="running"}})', "running"),
            Query(f"sum(training_operator_jobs_waiting{{{JOBS}}})", "waiting"),
            Query(f'sum(training_operator_jobs{{{JOBS}, state="failed"}})', "failed"),
        ),
        help="Jobs that run, jobs that make no progress, and jobs that have failed and still exist.",
        type="stat",
    ),
    Panel(
        "Stuck jobs",
        (
            Query(
                f"sort_desc(sum by (job_namespace, framework, reason) (training_operator_jobs_waiting{{{JOBS}}}) > 0)",
                "{{job_namespace}} {{framework}} {{reason}}",
            ),
        ),
        help="Jobs that make no progress now, by namespace, framework and reason. `kubectl get -o wide` names them.",
        type="table",
    ),
    Panel(
        "Jobs by state",
        (Query(f"sum by (state) (training_operator_jobs{{{JOBS}}})", "{{state}}"),),
        help="Jobs that exist, by latest condition.",
    ),
    Panel(
        "Waiting jobs by reason",
        (Query(f"sum by (reason) (training_operator_jobs_waiting{{{JOBS}}})", "{{reason}}"),),
        help="The reason in status.waiting.",
    ),
    Panel(
        "Jobs created and finished",
        tuple(
            Query(f"round(sum(increase(training_operator_jobs_{word}_total{{{JOBS}}}{RATE})))", word)
            for word in ("created", "successful", "failed", "deleted")
        ),
        help="Deleted: jobs whose TTL has expired.",
    ),
    Panel("Time until Running", _quantiles("training_operator_job_start_seconds", KIND), "s"),
    Panel("Job duration", _quantiles("training_operator_job_duration_seconds", KIND, "result"), "s"),
    Panel(
        "Restarts by cause",
        (
            Query(f"round(sum by (cause) (increase(training_operator_restarts_total{{{JOBS}}}{RATE})))", "{{cause}}"),
            Query(f"round(sum(increase(training_operator_pods_disrupted_total{{{JOBS}}}{RATE})))", "pods disrupted"),
        ),
    ),
    Panel(
        "Pods created, deleted, failed",
        tuple(
            Query(f"sum(rate({word}_pods_total{{{PROCESS}}}{RATE}))", word) for word in ("created", "deleted", "failed")
        ),
        "ops",
    ),
    Panel(
        "Reconciles by result",
        (Query(f"sum by (result) (rate(controller_runtime_reconcile_total{{{PROCESS}}}{RATE}))", "{{result}}"),),
        "ops",
    ),
    Panel("Reconcile duration", _quantiles("controller_runtime_reconcile_time_seconds", PROCESS), "s"),
    Panel(
        "Queue depth",
        (Query(f"sum by (controller) (workqueue_depth{{{PROCESS}}})", "{{controller}}"),),
    ),
    Panel("Queue duration", _quantiles("workqueue_queue_duration_seconds", PROCESS), "s"),
    Panel(
        "API requests",
        (Query(f"sum by (method, code) (rate(rest_client_requests_total{{{PROCESS}}}{RATE}))", "{{method}} {{code}}"),),
        "ops",
    ),
    Panel(
        "Leader",
        (Query(f"leader_election_master_status{{{PROCESS}}}", "{{instance}}"),),
        help="Empty without leader election.",
    ),
    Panel("Memory", (Query(f"process_resident_memory_bytes{{{PROCESS}}}", "{{instance}}"),), "bytes"),
    Panel("CPU", (Query(f"rate(process_cpu_seconds_total{{{PROCESS}}}{RATE})", "{{instance}}"),), "percentunit"),
)


def dashboard() -> str:
    """Return the dashboard as Grafana imports it."""
    board = {
        "title": "Training operator",
        "uid": "training-operator",
        "tags": ["kubeflow", "training-operator"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_data_source(), *map(_variable, ("job", "framework", "job_namespace"))]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }
    return json.dumps(board, indent=2) + "\n"


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}


def _variable(label: str) -> dict[str, Any]:
    """A choice of one label's values; the start metric is there from the start, jobs may not be."""
    metric = "training_operator_jobs" if label == "job_namespace" else "training_operator_job_start_seconds_count"
    query = f"label_values({metric}, {label})"
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": label},
        "definition": query,
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    per_row = COLUMNS // WIDTH
    place = {"x": number % per_row * WIDTH, "y": number // per_row * HEIGHT, "w": WIDTH, "h": HEIGHT}
    targets = [
        {"refId": chr(ord("A") + place), "expr": query.expression, "legendFormat": query.legend, "datasource": SOURCE}
        | ({} if panel.type == "timeseries" else {"instant": True})
        | ({"format": "table"} if panel.type == "table" else {})
        for place, query in enumerate(panel.queries)
    ]
    # Counts of jobs are whole numbers.
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0} | ({"decimals": 0} if panel.unit == "short" else {})
    options: dict[str, Any] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    if panel.type == "timeseries":
        defaults["custom"] = {"fillOpacity": 10}
    else:
        options = {}
    return {
        "id": number + 1,
        "type": panel.type,
        "title": panel.title,
        "description": panel.help,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": targets,
    }
