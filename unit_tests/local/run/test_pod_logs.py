"""Logs of several pods: each line once, in order, across restarts; and which job or pod a user means."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from rich.console import Console
from unit_tests.local.pods import RUNNING, Json, pod, terminated, waiting

from training_api.registry import KINDS
from training_local.errors import BadInput
from training_local.run.pod_logs import LAST_LINES, LogChoice, LogFollower, LogLine, merged
from training_local.run.progress import JobRef, replica_of
from training_local.run.targets import Contents, PodRef, chosen, chosen_pod
from training_local.show.log_lines import LinePrinter
from training_operator.kube.transport import Request, Response, Stream

NAMESPACE = "default"


def stamped(*lines: str, second: int = 0, batch: int = 1) -> list[bytes]:
    """Lines as the API gives them with timestamps; `batch` lines share one."""
    return [f"2026-01-01T12:00:{second:02}.{n // batch:09}Z {text}".encode() for n, text in enumerate(lines)]


class ScriptedNode:
    """A transport that answers requests for logs from a list, the last one again and again."""

    def __init__(self, *answers: Sequence[bytes]) -> None:
        self._answers = list(answers)
        self.queries: list[dict[str, str]] = []
        self.silence: asyncio.Future[None] | None = None
        """What an answer waits for before it ends; None for an answer that ends at once."""

    async def request(self, request: Request) -> Response:
        return Response(404)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        self.queries.append(dict(request.query))
        yield Stream(200, self._lines(self._answers.pop(0)))

    async def _lines(self, answer: Sequence[bytes]) -> AsyncIterator[bytes]:
        for line in answer:
            yield line
        if self.silence is not None:
            await self.silence

    async def close(self) -> None:
        pass


async def followed(node: ScriptedNode, *pods: Json, tail: int | None = None) -> list[str]:
    """The texts that arrive while the pods are seen one after the other."""
    logs = LogFollower(node, NAMESPACE, LogChoice("jax", tail))
    for each in pods:
        logs.take(each)
    await logs.drain()
    return [line.text for line in logs.pending()]


ENDED = pod("worker-0", terminated(1))
AGAIN = pod("worker-0", terminated(0), last=terminated(1), restarts=1)


async def test_every_line_comes_once_across_a_restart() -> None:
    first, second = stamped("a", "b", "c"), stamped("d", "e", second=1)
    node = ScriptedNode(first[:2], first, second)
    assert await followed(node, pod("worker-0", RUNNING), AGAIN) == ["a", "b", "c", "d", "e"]
    assert [query.get("previous") for query in node.queries] == [None, "true", None]


async def test_lines_that_were_printed_at_one_moment_are_all_there() -> None:
    first = stamped("a", "a", "", "b", batch=4)
    assert await followed(ScriptedNode(first[:2], first, []), ENDED, AGAIN) == ["a", "a", "", "b"]


async def test_a_clock_that_is_set_back_loses_no_line() -> None:
    assert await followed(ScriptedNode([*stamped("late", second=9), *stamped("early")]), ENDED) == ["late", "early"]


async def test_a_first_attempt_that_ended_before_it_was_seen_is_read_where_all_are_wanted() -> None:
    node = ScriptedNode(stamped("a"), stamped("b", second=1))
    logs = LogFollower(node, NAMESPACE, LogChoice("jax", all_attempts=True))
    logs.take(AGAIN)
    await logs.drain()
    assert [line.text for line in logs.pending()] == ["a", "b"]
    assert await followed(ScriptedNode(stamped("b")), AGAIN) == ["b"]


async def test_the_same_attempt_is_followed_once() -> None:
    node = ScriptedNode(stamped("a"))
    assert await followed(node, pod("worker-0", RUNNING), pod("worker-0", RUNNING), ENDED) == ["a"]


async def test_a_container_that_has_not_started_is_waited_for() -> None:
    node = ScriptedNode()
    assert await followed(node, pod("worker-0", waiting("ContainerCreating"))) == []
    assert node.queries == []


async def test_only_the_beginning_is_cut() -> None:
    node = ScriptedNode(stamped("c"), stamped("a", "b", "c"), stamped("d", second=1))
    await followed(node, ENDED, AGAIN, tail=1)
    assert [query.get("tailLines") for query in node.queries] == ["1", None, None]


async def test_the_last_lines_of_each_attempt_are_remembered() -> None:
    many = stamped(*map(str, range(40)))
    logs = LogFollower(ScriptedNode(many, many, stamped("new", second=1)), NAMESPACE, LogChoice("jax"))
    logs.take(ENDED)
    logs.take(AGAIN)
    await logs.drain()
    assert logs.last_lines("uid-worker-0", 0) == [str(n) for n in range(40 - LAST_LINES, 40)]
    assert logs.last_lines("uid-worker-0", 1) == ["new"]
    assert logs.last_lines("uid-worker-0", 2) == []


async def test_a_pod_that_goes_on_running_is_not_waited_for() -> None:
    node = ScriptedNode(stamped("a"))
    node.silence = asyncio.get_running_loop().create_future()
    logs = LogFollower(node, NAMESPACE, LogChoice("jax"))
    logs.take(pod("worker-0", RUNNING))
    await logs.drain(patience=0.01)
    assert [line.text for line in logs.pending()] == ["a"]


async def test_logs_are_merged_by_time() -> None:
    def source(*stamps: int) -> AsyncIterator[LogLine]:
        async def lines() -> AsyncIterator[LogLine]:
            for stamp in stamps:
                yield LogLine(replica_of(ENDED), str(stamp), "")

        return lines()

    assert [line.stamp async for line in merged([source(1, 4, 5), source(), source(2, 3, 9)])] == list("123459")


def printed(*, terminal: bool, timestamps: bool = False, as_json: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=io.StringIO(), force_terminal=terminal, _environ={"TERM": "xterm"})
    printer = LinePrinter(console, timestamps=timestamps, as_json=as_json, out=out)
    printer.print(LogLine(replica_of(pod("worker-3", RUNNING)), "STAMP", "loss \x1b[2J1"))
    return out.getvalue()


def test_a_pipe_gets_what_was_printed_and_a_terminal_what_cannot_harm_it() -> None:
    assert printed(terminal=False) == "worker-3 | loss \x1b[2J1\n"
    assert printed(terminal=False, timestamps=True) == "worker-3 | STAMP loss \x1b[2J1\n"
    coloured, _, text = printed(terminal=True).partition("| ")
    assert coloured.startswith("\x1b[")
    assert text.endswith(r"loss \x1b[2J1" + "\n")
    assert json.loads(printed(terminal=True, as_json=True))["log"]["replica"] == "worker-3"


JAX = KINDS["JAXJob"]
SIM, OTHER = JobRef(JAX, NAMESPACE, "sim"), JobRef(JAX, "team", "other")


def ref(name: str, job: JobRef | None = SIM, state: Json = RUNNING) -> PodRef:
    stored = pod(name, state)
    stored["metadata"]["name"] = f"{job.name if job else 'bare'}-{name}"
    return PodRef(job.namespace if job else NAMESPACE, replica_of(stored), stored, job)


TWO_JOBS = Contents([SIM, OTHER], [ref("worker-0"), ref("worker-1"), ref("worker-0", OTHER), ref("helper-7", None)])


@pytest.mark.parametrize("text", ["sim", "jaxjob/sim", "JAXJob/sim", "jaxjobs.kubeflow.org/sim"])
def test_a_job_is_found_by_name_and_kind(text: str) -> None:
    assert chosen(text, TWO_JOBS) == SIM


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sim-worker-0", "sim-worker-0"),
        ("pod/sim-worker-0", "sim-worker-0"),
        ("po/sim-worker-0", "sim-worker-0"),
        ("worker-1", "sim-worker-1"),
        ("other/worker-0", "other-worker-0"),
        ("bare-helper-7", "bare-helper-7"),
    ],
)
def test_a_pod_is_found_by_its_name_and_by_its_place_in_a_job(text: str, name: str) -> None:
    found = chosen(text, TWO_JOBS)
    assert isinstance(found, PodRef)
    assert found.replica.pod == name
    assert chosen_pod(text, TWO_JOBS) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "worker-0",
            r"there are several (pods )?worker-0, name one of: sim-worker-0 \(Running\), other-worker-0 \(Running\)",
        ),
        ("nope", r"there is no job or pod nope; there is: jaxjob/sim \(-n default\), jaxjob/other \(-n team\), sim-w"),
        ("pytorchjob/sim", "pytorchjob/sim does not exist; there is: jaxjob/sim"),
        ("sim/worker-5", r"there is no pod worker-5 of job sim; there is: sim-worker-0 \(Running\), sim-worker-1"),
        (None, r"there are several jobs, name one of: jaxjob/sim \(-n default\), jaxjob/other \(-n team\)$"),
    ],
)
def test_what_cannot_be_found_is_said_with_what_there_is(text: str | None, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^{sentence}"):
        chosen(text, TWO_JOBS)


def test_without_a_name_it_is_the_only_job() -> None:
    assert chosen(None, Contents([SIM], [ref("worker-0")])) == SIM
    with pytest.raises(BadInput, match="nothing in the cluster yet"):
        chosen(None, Contents([], []))


def test_many_pods_are_listed_in_part() -> None:
    with pytest.raises(BadInput, match=r"sim-worker-11 \(Running\) and 52 more$"):
        chosen_pod("nope", Contents([], [ref(f"worker-{n}") for n in range(64)]))
