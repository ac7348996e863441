"""What is shown, reduced from stored objects: rows, timelines, curves, YAML, sums."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
import yaml
from unit_tests.console.served import condition, job_object
from unit_tests.local.pods import RUNNING, pod, terminated

from training_api.registry import KINDS
from training_console.model.curves import curves
from training_console.model.events import events
from training_console.model.filters import Filters
from training_console.model.fleet import longest_waiting, over_time, usage
from training_console.model.jobs import JobRow, accelerators, by_attention, resources, row_of
from training_console.model.pods import PodRow, pod_row
from training_console.model.queues import workloads
from training_console.model.timeline import timeline
from training_console.model.yaml_view import yaml_lines
from training_console.pages.html import Macros, environment
from training_console.pages.job import job_name
from training_console.pages.page import changes, hashes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
JAX = KINDS["JAXJob"]


def row(name: str = "sim", **fields: Any) -> JobRow:
    known = {"uid": name, "version": "1", "owner": None, "kind": "JAXJob", "plural": "jaxjobs", "created": NOON}
    return JobRow("default", name, **{**known, **fields})


def stored_job(**status: Any) -> dict[str, Any]:
    metadata = {"namespace": "default", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T12:00:00Z"}
    return {**job_object(JAX, "sim", metadata), "status": status}


def stored_pod(name: str, *arguments: Any, **more: Any) -> PodRow:
    made = pod(name, *arguments, **more)
    made["metadata"] |= {"namespace": "default", "resourceVersion": "1"}
    return pod_row(made)


def test_a_job_is_reduced_to_its_row() -> None:
    counts = {"Worker": {"active": 1, "succeeded": 1, "restarts": 3}}
    conditions = [condition("Created"), condition("Running", "runs")]
    shown = row_of(JAX, stored_job(conditions=conditions, replicaStatuses=counts, startTime="2026-01-01T12:00:05Z"))
    assert (shown.state, shown.message) == ("Running", "runs")
    assert (shown.wanted, shown.active, shown.succeeded, shown.restarts) == (2, 1, 1, 3)
    assert shown.accelerators == 2
    assert shown.running_since == NOON, "the condition tells"


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"nvidia.com/gpu": "4"}, 4),
        ({"nvidia.com/mig-1g.5gb": 2}, 2),
        ({"google.com/tpu": "8", "cpu": "96"}, 8),
        ({"rdma/hca": "1"}, 0),
        ({"nvidia.com/gpu": "many"}, 0),
    ],
)
def test_accelerators_are_counted(limits: dict[str, Any], count: int) -> None:
    assert accelerators({"containers": [{"resources": {"limits": limits}}]}) == count


def test_a_train_job_stands_beside_the_others() -> None:
    resource = next(each for each in resources() if each.kind == "TrainJob")
    job = {
        "metadata": {"name": "new", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        "spec": {"trainer": {"numNodes": 4, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 2}}}},
        "status": {"jobsStatus": [{"name": "node", "active": 4}], "conditions": []},
    }
    shown = resource.decode(msgspec.json.encode(job))
    assert (shown.state, shown.wanted, shown.active, shown.accelerators) == ("Running", 4, 4, 8)
    job["status"] = {"conditions": [condition("Complete", "all done")]}
    shown = resource.decode(msgspec.json.encode(job))
    assert (shown.state, shown.completed) == ("Succeeded", NOON)


def test_an_object_that_is_built_otherwise_is_an_error_of_the_decoder() -> None:
    with pytest.raises(msgspec.MsgspecError):
        resources()[0].decode(b'{"metadata": []}')


def test_a_workload_says_why_it_is_not_admitted() -> None:
    job = {"kind": "JAXJob", "name": "sim", "uid": "u", "controller": True}
    stored = {
        "metadata": {"name": "w", "namespace": "n", "uid": "w", "resourceVersion": "1", "ownerReferences": [job]},
        "spec": {"queueName": "team"},
        "status": {"conditions": [{**condition("QuotaReserved", "2 GPUs are missing", "False")}]},
    }
    shown = workloads().decode(msgspec.json.encode(stored))
    assert (shown.queue, shown.state, shown.why) == ("team", "Pending", "2 GPUs are missing")
    assert shown.owner is not None and shown.owner.uid == "u"
    stored["status"] = {"conditions": [condition("QuotaReserved"), condition("Admitted", "fine")]}
    shown = workloads().decode(msgspec.json.encode(stored))
    assert (shown.state, shown.why) == ("Admitted", "")


def test_who_waits_for_a_person_comes_first() -> None:
    rows = [
        row("done", state="Succeeded"),
        row("runs", state="Running"),
        row("failed", state="Failed", message="m"),
        row("stuck", state="Running", waiting="Quota"),
        row("newer", state="Running", created=NOON + timedelta(hours=1)),
    ]
    assert [each.name for each in by_attention(rows)][:3] == ["stuck", "newer", "runs"]


def test_filters_read_what_they_know_and_are_limited() -> None:
    filters = Filters.read({"namespace": " a ", "sort": "nonsense", "text": "x" * 999, "other": "y"})
    assert (filters.namespace, filters.sort, len(filters.text), filters.rows) == ("a", "attention", 253, 200)
    assert Filters.read({"rows": "99999"}).rows == 10_000
    assert Filters.read({"rows": "-1"}).rows == Filters.read({"rows": "9" * 5000}).rows == 200
    assert Filters.read({"kind": "JAXJob"}).more.query == "kind=JAXJob&rows=400"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "namespace=a&kind=JAXJob&state=Failed&owner=b",
        "text=x+%26+y&sort=name&rows=400",
        "verdict=exact&migration=on",
    ],
)
def test_the_address_of_a_view_is_the_view(query: str) -> None:
    filters = Filters.read(dict(parse_qsl(query)))
    assert filters.query == query
    assert Filters.read(dict(parse_qsl(filters.query))) == filters


def test_the_timeline_shows_states_attempts_and_warnings() -> None:
    done = [
        condition("Created", at="2026-01-01T12:00:00Z"),
        condition("Running", status="False", at="2026-01-01T12:00:10Z"),
        condition("Failed", at="2026-01-01T12:01:40Z"),
    ]
    told = {"type": "Warning", "reason": "Restarting", "message": "m", "lastTimestamp": "2026-01-01T12:00:50Z"}
    about = {"metadata": {"namespace": "n", "name": "e", "uid": "e"}, "involvedObject": {"uid": "u"}, **told}
    event = events().decode(msgspec.json.encode(about))
    failed = stored_pod("worker-0", terminated(1, "2026-01-01T12:00:30Z"), phase="Failed")
    drawn = timeline(stored_job(conditions=done), [failed], [event], None, NOON + timedelta(hours=1))
    assert drawn is not None
    label, spans, marks = drawn.lanes[0]
    assert (label, [span.style for span in spans]) == ("job", ["Created", "Running", "Failed"])
    assert (spans[1].x, spans[1].width) == (100.0, 900.0), "from 10 s to 100 s of 100 s"
    assert [(mark.x, mark.title) for mark in marks] == [(500.0, "Restarting: m")]
    assert [span.style for span in drawn.lanes[1][1]] == ["Pending", "Failed"]
    assert drawn.ticks[-1] == (1000.0, "100s")


def test_the_timeline_shows_waits_for_the_gang_and_in_the_queue() -> None:
    waiting = {"reason": "GangPending", "message": "not let in"}
    held = {
        "metadata": {
            "name": "w",
            "namespace": "n",
            "uid": "w",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T12:00:00Z",
        },
        "spec": {"queueName": "team"},
        "status": {"conditions": [condition("Admitted", at="2026-01-01T12:00:30Z")]},
    }
    admitted = workloads().decode(msgspec.json.encode(held))
    job = stored_job(conditions=[condition("Created", "m")], waiting=waiting)
    drawn = timeline(job, [], [], admitted, NOON + timedelta(seconds=60))
    assert drawn is not None
    (_, [state], _), (label, [queued], _) = drawn.lanes
    assert state.title == "Created: GangPending: not let in (60s)"
    assert (label, queued.title, queued.width) == ("queue", "waits in the queue team (30s)", 500.0)


def test_a_large_job_shows_the_lanes_of_replicas_that_failed() -> None:
    calm = [stored_pod(f"worker-{index}", RUNNING) for index in range(100)]
    bad = stored_pod("worker-100", terminated(1), phase="Failed")
    drawn = timeline(stored_job(), [*calm, bad], [], None, NOON + timedelta(minutes=1))
    assert drawn is not None
    assert "worker-100" in [label for label, _, _ in drawn.lanes]
    assert drawn.left_out == 77


def test_curves_are_numbers_beside_names() -> None:
    lines = [f"step {n} loss {1 / (n + 1):.3f} lr=1e-3 {{'acc': 0.{n}5}} worker-{n}" for n in range(5)]
    found = {curve.name: curve for curve in curves([*lines, "loss nan", "version 1.2.3"])}
    assert list(found) == ["acc", "loss"], "what never changes, and what says where one is, is none"
    assert found["loss"].values == [1.0, 0.5, 0.333, 0.25, 0.2]
    assert found["loss"].points.split()[0] == "0.0,0.0"
    assert found["loss"].points.split()[-1] == "320.0,120.0"


def test_a_long_curve_is_averaged() -> None:
    [curve] = curves(f"loss {n}" for n in range(5_000))
    assert len(curve.shown) <= 400
    assert curve.shown[0] == sum(range(13)) / 13


def test_yaml_marks_what_is_not_stored() -> None:
    lines = yaml_lines("JAXJob", {**stored_job(), "metadata": {"name": "sim", "managedFields": [1]}})
    marked = [line.text.strip() for line in lines if line.defaulted]
    assert "restartPolicy: Never" in marked
    assert "replicas: 2" not in marked
    assert not any("managedFields" in line.text for line in lines)


@pytest.mark.parametrize(
    "value", ["a: b", "two\nlines\n", "true", "0123", "", "- x", None, 1.5, [], {}, [[1]], "é", "x" * 300]
)
def test_yaml_is_what_was_stored(value: Any) -> None:

    stored = {
        "apiVersion": "v",
        "kind": "Other",
        "metadata": {"name": "n"},
        "spec": {"value": value, "list": [value, {"a": value}]},
    }
    written = "".join(f"{line.text}\n" for line in yaml_lines("Other", stored))
    assert yaml.safe_load(written) == stored


def test_the_fleet_is_counted_over_time() -> None:
    rows = [
        row("a", running_since=NOON, completed=NOON + timedelta(hours=1), state="Succeeded", accelerators=4),
        row("b", running_since=NOON + timedelta(hours=1), state="Running", accelerators=1),
        row("c", state="Created", waiting="Quota"),
    ]
    now = NOON + timedelta(hours=2)
    drawn = over_time(rows, now)
    assert drawn is not None and drawn.most == 3
    [used] = usage(rows, now)
    assert (used.jobs, used.running, used.accelerators, used.hours) == (3, 1, 1, 5.0)
    assert [each.name for each in longest_waiting(rows)] == ["c"]


def test_4096_cells_are_a_small_page() -> None:
    macros, job = Macros(environment(""), "macros.html"), job_name("default", "jaxjobs", "sim")
    cell = macros("cell", job, stored_pod("worker-7", RUNNING))
    assert "worker-7: Running" in cell
    assert len(cell) * 4096 < 2_000_000


def test_only_what_has_changed_is_sent() -> None:
    before = hashes({"a": "1", "b": "2", "c": "3"})
    assert changes(before, {"a": "1", "b": "2", "c": "3"}) is None
    told = changes(before, {"a": "1", "new": "x", "c": "4"})
    assert told == {"set": [["new", "x", "a"], ["c", "4", None]], "gone": ["b"]}
