"""What people, pipes and programs see of a job."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from unit_tests.local.pods import RUNNING, Json, pod, terminated, waiting

from training_api.printable import legible, printable
from training_api.registry import KINDS
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage, usage_of
from training_local.run.progress import JobProgress, JobRef, Replica, progress_of, replica_of
from training_local.show.cells import fitted
from training_local.show.colours import REPLICA_COLOURS, colour_of
from training_local.show.json_lines import JsonView
from training_local.show.live import REDRAW_SECONDS, LiveView
from training_local.show.output import Output
from training_local.show.picture import Scene, draw
from training_local.show.plain import PlainView
from training_local.show.steps import Steps

JAX = KINDS["JAXJob"]
JOB = JobRef(JAX, "default", "sim")
NOW = datetime(2026, 1, 1, 12, 0, 10, tzinfo=UTC)
IS_RUNNING = {"type": "Running", "status": "True", "message": "JAXJob default/sim is running."}
SUCCEEDED = {"type": "Succeeded", "status": "True", "message": "done"}
BACK_OFF = waiting("CrashLoopBackOff", "back-off 10s restarting failed container=jax pod=sim")


def progress(*pods: Json, conditions: tuple[Json, ...] = (IS_RUNNING,), workers: int = 0, **policy: Any) -> JobProgress:
    job = {
        "spec": {"runPolicy": policy, "jaxReplicaSpecs": {"Worker": {"replicas": workers or len(pods)}}},
        "status": {"conditions": list(conditions), "startTime": "2026-01-01T12:00:00Z"},
    }
    return progress_of(JAX, job, [replica_of(p) for p in pods])


def scene(shown: JobProgress, **more: Any) -> Scene:
    return Scene(str(JOB), shown, NOW - timedelta(seconds=75), NOW, **more)


def drawn(picture: Scene, width: int = 80, height: int = 24) -> list[str]:
    """The lines that appear on a terminal of this size."""
    console = Console(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True, _environ={})
    console.print(draw(picture, width, height), soft_wrap=True)
    return console.export_text().splitlines()


def log(text: str, replica: str = "worker-0") -> LogLine:
    return LogLine(replica_of(pod(replica, RUNNING)), "2026-01-01T12:00:00.000000000Z", text)


def test_a_small_job_is_shown_whole() -> None:
    killed = pod("worker-1", RUNNING, last=terminated(137, reason="OOMKilled"), restarts=2)
    usage = {"sim-worker-0": Usage(0.984, 153 << 20)}
    shown = progress(pod("worker-0", RUNNING), killed, backoffLimit=3, activeDeadlineSeconds=60)
    assert drawn(scene(shown, usage=usage, lines=[log("loss 0.5"), log("loss 0.4", "worker-1")], steps=(15, 60))) == [
        "JAXJob default/sim  Running  1:15",
        "JAXJob default/sim is running.",
        "restarts 0 of 3 · deadline in 0:50",
        "  REPLICA   PHASE    RANK  RESTARTS  LAST END        CPU   MEMORY    AGE",
        "worker: 2 Running",
        "  worker-1  Running     1         2  137 OOMKilled                 2m10s",
        "  worker-0  Running     0                           0.98  153 MiB  2m10s",
        "██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 15/60",
        "worker-0 | loss 0.5",
        "worker-1 | loss 0.4",
    ]


def crowd(size: int = 64) -> JobProgress:
    """Many replicas of which three need attention."""
    pods = {f"worker-{n}": pod(f"worker-{n}", RUNNING) for n in range(size)}
    pods["worker-40"] = pod("worker-40", terminated(139), phase="Failed")
    pods["worker-41"] = pod("worker-41", BACK_OFF, last=terminated(1, "2026-01-01T12:00:03Z"), restarts=1)
    pods["worker-42"] = pod("worker-42", phase="Pending")
    return progress(*pods.values())


def test_of_a_large_job_the_worst_are_shown_and_the_rest_is_counted() -> None:
    lines = drawn(scene(crowd(), lines=[log(f"step {n}") for n in range(50)]))
    assert len(lines) == 24
    table = lines[lines.index("worker: 1 Failed, 1 Waiting, 1 Pending, 61 Running") + 1 :]
    assert table[0].split() == ["worker-40", "Failed", "139", "SIGSEGV"]
    assert table[1].split(maxsplit=5) == ["worker-41", "Waiting", "1", "1", "Error", "CrashLoopBackOff, again in 3 s"]
    assert table[2].split()[:2] == ["worker-42", "Pending"]
    assert table[3].split()[:2] == ["worker-0", "Running"]
    assert next(line for line in table if "…" in line).strip() == "… 52 more Running"
    assert lines[-1] == "worker-0 | step 49"


def test_a_reason_comes_before_numbers_where_there_is_no_room_for_both() -> None:
    stuck = pod("worker-0", waiting("CreateContainerConfigError", 'secret "token" not found'), phase="Pending")
    lines = drawn(scene(progress(stuck), usage={"sim-worker-0": Usage(1, 1)}), width=60)
    assert "CreateContainerConfigError: sec" in lines[4]
    assert "MEMORY" not in lines[2]


@given(
    st.integers(1, 130),
    st.integers(1, 40),
    st.integers(0, 70),
    st.text(max_size=200),
    st.sampled_from(["", "the job waits: 待っている " * 5]),
)
def test_a_picture_never_leaves_its_terminal(width: int, height: int, size: int, text: str, notice: str) -> None:
    shown = crowd(size) if size > 42 else progress(*(pod(f"worker-{n}", RUNNING) for n in range(size)))
    picture = draw(scene(shown, lines=[log(text)] * 9, steps=(1, 2), notice=notice), width, height).plain
    assert len(picture.split("\n")) <= height
    assert all(cell_len(line) <= width for line in picture.split("\n"))
    assert not any(category(character) == "Cc" for character in picture.replace("\n", ""))


def test_the_head_shows_which_conditions_hold() -> None:
    conditions = ({"type": "Running", "status": "False"}, {"type": "Created", "status": "True"}, SUCCEEDED)
    head, message = drawn(scene(progress(conditions=conditions)))
    assert head == "JAXJob default/sim  Succeeded  1:15  conditions Created, Succeeded"
    assert message == "done"


def test_a_notice_is_folded_not_cut() -> None:
    lines = drawn(scene(progress(conditions=()), notice="JAXJob default/sim has not started: " + "no room " * 12))
    assert lines[0] == "JAXJob default/sim  waiting  1:15"
    assert " ".join(lines[1:]).count("no room") == 12


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2Jgone\x1b[H", r"\x1b[2Jgone\x1b[H"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        (" 10%|#   |\r 50%|##  |\r100%|####|\r", "100%|####|"),
        ("a\tb", "a       b"),
        ("null\x00byte", r"null\x00byte"),
        ("evil\u202egnp.exe", r"evil\u202egnp.exe"),
        ("lone \ud800", r"lone \ud800"),
        ("日本語 ✓ é", "日本語 ✓ é"),
    ],
)
def test_what_is_printed_cannot_steer_the_terminal(printed: str, shown: str) -> None:
    assert printable(printed) == shown


def test_messages_become_legible() -> None:
    assert legible("first\n  second\x1b[A") == r"first second\x1b[A"


@given(st.text(), st.integers(0, 20))
def test_text_is_cut_by_cells(text: str, width: int) -> None:
    assert cell_len(fitted(printable(text), width)) <= width


def clock(*moments: float) -> Callable[[], float]:
    readings = iter(moments)
    return lambda: next(readings)


def test_lines_are_printed_once_per_change() -> None:
    out = io.StringIO()
    view = PlainView(JOB, out, clock(0, 1, 2, 3, 4, 5, 6))
    view.progress(progress(pod("worker-0", RUNNING)))
    view.progress(progress(pod("worker-0", RUNNING)))
    view.line(log("step 1/2 \x1b[2Jloss"))
    loop = pod("worker-0", BACK_OFF, last=terminated(137), restarts=1)
    view.progress(progress(loop))
    view.progress(progress(pod("worker-0", RUNNING)))  # the same as before, but news again
    view.notice("it waits")
    view.notice("it waits")
    assert out.getvalue().splitlines() == [
        "   1.0s JAXJob default/sim Running: JAXJob default/sim is running.",
        "   2.0s sim-worker-0 Running (node rank 0)",
        r"worker-0 | step 1/2 \x1b[2Jloss",
        "   3.0s sim-worker-0 Waiting (node rank 0, 1 restart, ended with 137 SIGKILL): "
        "CrashLoopBackOff: back-off 10s restarting failed container=jax pod=sim",
        "   4.0s sim-worker-0 Running (node rank 0)",
        "   5.0s it waits",
    ]


def test_json_lines_can_be_read_by_programs() -> None:
    out = io.StringIO()
    view = JsonView(out)
    view.usage({"sim-worker-0": Usage(0.5, 1024)})
    view.progress(progress(pod("worker-0", BACK_OFF, last=terminated(139), restarts=1), backoffLimit=3))
    view.line(log('quote " and \x1b[2J'))
    view.notice("it waits")
    first, second, third = map(json.loads, out.getvalue().splitlines())
    shown = first["progress"]
    assert (shown["state"], shown["backoffLimit"], shown["waiting"]) == ("Running", 3, None)
    assert shown["replicas"] == [
        {
            "pod": "sim-worker-0",
            "replica": "worker-0",
            "type": "worker",
            "index": 0,
            "phase": "Running",
            "rank": "0",
            "restarts": 1,
            "waiting": BACK_OFF["waiting"],
            "lastEnd": {
                "exitCode": 139,
                "signal": "SIGSEGV",
                "reason": "Error",
                "message": "",
                "finishedAt": "2026-01-01T12:00:00Z",
            },
            "createdAt": "2026-01-01T11:58:00Z",
            "cpu": 0.5,
            "memory": 1024,
        }
    ]
    stamp = "2026-01-01T12:00:00.000000000Z"
    assert second == {
        "log": {"pod": "sim-worker-0", "replica": "worker-0", "time": stamp, "text": 'quote " and \x1b[2J'}
    }
    assert third == {"notice": "it waits"}
    assert "\x1b" not in out.getvalue()


async def test_the_live_view_gives_the_terminal_back_with_the_last_picture() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=24, _environ={})
    with LiveView(JOB, console, lambda: True, lambda: NOW) as view:
        view.progress(progress(pod("worker-0", RUNNING)))
        for step in range(1, 41):
            view.line(log(f"step {step}/40 loss 0.5"))
    taken, left = out.getvalue().split("\x1b[?1049l")
    assert "\x1b[?1049h" in taken
    assert "\x1b[?25h" in out.getvalue()  # the cursor is back
    for part in ("JAXJob default/sim", "Running", "40/40", "step 40/40"):
        assert part in left
    assert "step 4/40" not in left


def test_without_colours_nothing_but_text_is_left() -> None:
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=True, _environ={"NO_COLOR": "1"})
    console.print(draw(scene(crowd(), steps=(1, 2)), 80, 24), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    sequences = {part.partition("m")[0] for part in console.file.getvalue().split("\x1b[")[1:]}
    assert sequences <= {"0", "1", "2"}  # bold and dim remain


async def test_a_slow_reader_delays_no_other_and_loses_nothing() -> None:
    begin, end = os.pipe()
    text = "".join(f"line {n}\n" for n in range(1 << 18))
    with os.fdopen(begin) as reader, os.fdopen(end, "w") as pipe:
        async with Output(pipe) as out:
            out.write(text)  # more than a pipe holds, and there is no reader
            assert not out.idle
            reading = asyncio.create_task(asyncio.to_thread(reader.read, len(text)))
            await out.room()
        assert await reading == text
        assert out.idle


async def test_a_reader_who_has_gone_is_an_error_for_the_writer() -> None:
    begin, end = os.pipe()
    os.close(begin)
    with os.fdopen(end, "w") as pipe:
        async with Output(pipe) as out:
            out.write("x")
        with pytest.raises(BrokenPipeError):
            out.write("y")


async def test_a_stopped_terminal_gets_no_further_pictures() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, height=24, _environ={})
    with LiveView(JOB, console, lambda: False, lambda: NOW):
        await asyncio.sleep(2 * REDRAW_SECONDS)
        assert "JAXJob" not in out.getvalue()
    assert "JAXJob" in out.getvalue()


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("step 12/60 loss 0.1", (12, 60)),
        ("Epoch [2/10] lr=0.1", (2, 10)),
        ("Iteration: 7 of 9", (7, 9)),
        (" 45%|████▌     | 45/100 [00:01<00:02, 30.1it/s]", (45, 100)),
        ("loss 1/3", None),
        ("step 3/0", None),
        ("reading shard 3/4", None),
    ],
)
def test_progress_is_found_in_log_lines(text: str, steps: tuple[int, int] | None) -> None:
    found = Steps()
    found.take("worker-0", text)
    assert found.slowest == steps


def test_the_bar_shows_the_replica_that_is_behind() -> None:
    found = Steps()
    for replica, text in (("a", "step 9/10"), ("b", "step 2/10"), ("a", "step 10/10")):
        found.take(replica, text)
    assert found.slowest == (2, 10)


@pytest.mark.parametrize(
    ("conditions", "state", "outcome"),
    [
        ((), "", ""),
        ((IS_RUNNING,), "Running", ""),
        (({**IS_RUNNING, "status": "False"}, SUCCEEDED), "Succeeded", "Succeeded"),
        (({**SUCCEEDED, "type": "Failed", "status": "False"}, IS_RUNNING), "Running", ""),
    ],
)
def test_state_and_outcome_follow_the_conditions(conditions: tuple[Json, ...], state: str, outcome: str) -> None:
    shown = JobProgress(conditions)
    assert (shown.state, shown.outcome) == (state, outcome)


def test_a_pod_is_reduced_to_rank_restarts_and_its_last_end() -> None:
    found = replica_of(pod("worker-1", RUNNING, last=terminated(137, reason="OOMKilled"), restarts=3))
    assert (found.pod, found.replica_type, found.index, found.phase) == ("sim-worker-1", "worker", 1, "Running")
    assert (found.rank, found.restarts, found.stands) == ("1", 3, "Running")
    assert found.last_end is not None
    assert found.last_end.brief == "137 OOMKilled"


def test_restarts_are_those_of_replaced_pods_too() -> None:
    replacement = pod("worker-1", RUNNING, restarts=1)
    replacement["metadata"]["annotations"] = {"extension.training.kubeflow.org/restarts": "2"}
    assert replica_of(replacement).restarts == 3


def test_a_pod_of_no_job_has_its_own_name() -> None:
    bare = {"metadata": {"name": "alone"}, "spec": {"containers": [{"name": "c"}]}}
    found = replica_of(bare)
    assert (found.short_name, found.phase, found.rank, found.last_end) == ("alone", "Pending", "-", None)


@pytest.mark.parametrize(("message", "seconds"), [("back-off 10s restarting", 10), ("back-off 2m40s restarting", 160)])
def test_a_back_off_ends_so_long_after_the_last_end(message: str, seconds: int) -> None:
    ended = "2026-01-01T12:00:00Z"
    found = replica_of(pod("worker-0", waiting("CrashLoopBackOff", message), last=terminated(1, ended)))
    assert found.again_at == datetime.fromisoformat(ended) + timedelta(seconds=seconds)


def test_replicas_are_expected_by_type_with_defaults() -> None:
    job = {"spec": {"pytorchReplicaSpecs": {"worker": {"replicas": 3}, "Master": {}}}}
    shown = progress_of(KINDS["PyTorchJob"], job, [])
    assert shown.expected == {"master": 1, "worker": 3}
    assert not shown.whole


def test_the_usage_of_a_pod_is_that_of_its_containers() -> None:
    containers = [{"name": n, "usage": {"cpu": "1500000000n", "memory": "1024Ki"}} for n in "ab"]
    metrics = {"items": [{"metadata": {"name": "p"}, "containers": containers}]}
    assert usage_of(metrics) == {"p": Usage(3.0, 2 << 20)}


def test_neighbours_have_different_colours() -> None:
    colours = [colour_of(Replica("p", "worker", n, "Running")) for n in range(len(REPLICA_COLOURS))]
    assert len(set(colours)) == len(colours)


def test_a_launcher_has_no_number() -> None:
    labels = {"training.kubeflow.org/replica-type": "launcher"}
    launcher = pod("launcher-0") | {"metadata": {"name": "sim-launcher", "uid": "u", "labels": labels}}
    (replica,) = progress(launcher).replicas
    assert replica.short_name == "launcher"
