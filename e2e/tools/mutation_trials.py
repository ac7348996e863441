"""What `e2e.tools.mutations` does inside pytest: collects and times the tests once, and forks for each mutant.

A process tries one mutant with the tests that run the changed line until one fails. Those that have noticed other
changes of its function come first, then those in the file of its name and those that have noticed changes of its
module, then some of each file: those that run the fewest lines, because they are fast.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import resource
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from mmap import mmap
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage
from e2e.support import profiles
from e2e.tools.mutations import PROFILE, REQUEST, TESTS, VERDICTS
from hypothesis import HealthCheck, Phase, settings

MEMORY: Final = 4 << 30
"""Of a process: a changed loop may have no end."""
Timed = tuple[int, int, float, pytest.Item]
"""How many of the lines a test runs, its place among the tests, the seconds of CPU time that it takes, and the test."""

# The smallest example is not read, and the machine may have other work.
settings.register_profile(
    PROFILE,
    settings.get_profile(profiles.REPEATABLE),
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


Mutants = Mapping[str, tuple[str, str, Sequence[int]]]
"""By name: hash, file, and the lines of the original, the changed one first."""


class Trials:
    """The tests, and which lines each of them runs."""

    def __init__(self, tests: Sequence[pytest.Item], files: Collection[str]) -> None:
        gc.unfreeze()  # A frozen object is not found.
        wrappers = (each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper))
        self._caches = [each for each in wrappers if each.__module__.startswith(("training_", *TESTS))]
        gc.freeze()
        self._tests: dict[tuple[str, int], list[Timed]] = defaultdict(list)
        """By file and line."""
        self._noticed_by: dict[str, set[int]] = defaultdict(set)
        """The numbers of tests that have noticed changes of a function, or of a module."""
        self._watch(tests, files)
        gc.freeze()

    def _watch(self, tests: Sequence[pytest.Item], files: Collection[str]) -> None:
        begun, durations = time.process_time(), dict[int, float]()
        lines = Coverage(data_file=None, config_file=False, include=[str(Path(file).resolve()) for file in files])
        os.environ["MUTANT_UNDER_TEST"] = ""
        lines.start()
        for number, test in enumerate(tests):
            self._forget()
            lines.switch_context(str(number))
            started = time.process_time()
            if self._passes(test):
                durations[number] = time.process_time() - started
            else:
                print(f"left out, because it fails without any change: {test.nodeid}", flush=True)
        lines.stop()
        seen = {file: lines.get_data().contexts_by_lineno(str(Path(file).resolve())) for file in files}
        run = [(file, line, int(each)) for file in seen for line, all_ in seen[file].items() for each in all_ if each]
        counts = Counter(number for _, _, number in run)
        for file, line, number in run:
            if number in durations:
                self._tests[file, line].append((counts[number], number, durations[number], tests[number]))
        print(f"{len(tests)} tests took {time.process_time() - begun:.0f} s of CPU time", flush=True)

    def _forget(self) -> None:
        for cache in self._caches:
            cache.cache_clear()

    def _passes(self, test: pytest.Item) -> bool:
        if isinstance(test, pytest.Function):
            test._initrequest()
        return not any(report.failed for report in runtestprotocol(test, log=False, nextitem=None))

    def _passes_in_time(self, timed: Timed, present: mmap) -> bool:
        """As above; ends the process where a test takes several times as long as without any change.

        That is CPU time, because the machine may have other work. What waits without end has ten minutes.
        """
        _, number, duration, test = timed
        present[:] = number.to_bytes(len(present))
        signal.setitimer(signal.ITIMER_PROF, 2 + 5 * duration)
        signal.setitimer(signal.ITIMER_REAL, 600 + 600 * duration)
        return self._passes(test)

    def run(self, mutants: Mutants, notes: str, children: int, nearest: int | None) -> dict[str, bool]:
        """Whether some test notices each of the mutants, of the `nearest` ones if there is such a limit.

        The hashes of those that are noticed go into the file `notes`.
        """
        noticed: dict[str, bool] = {}
        running: dict[int, tuple[str, mmap]] = {}
        for mutant in (*mutants, *[None] * children):
            if running and (mutant is None or len(running) == children):
                child, status = os.wait()
                tried, number = running.pop(child)
                noticed[tried] = status != 0
                if noticed[tried]:
                    with Path(notes).open("a") as file:
                        file.write(f"{mutants[tried][0]}\n")
                    for name in (_function(tried), _module(tried)):
                        self._noticed_by[name].add(int.from_bytes(number[:]))
                print(len(noticed), "of", len(mutants), tried, _end(status), flush=True)
            if mutant is None:
                continue
            tests = self._in_order(mutant, self._tests_of(*mutants[mutant][1:]))
            number = mmap(-1, 8)
            if tests:
                running[self._fork(mutant, tests[:nearest], number)] = mutant, number
            else:
                noticed[mutant] = False
        return noticed

    def _tests_of(self, file: str, lines: Sequence[int]) -> Sequence[Timed]:
        """The tests that run the changed line, or where no test stops at it the nearest line before or after it."""
        return next((found for line in lines if (found := self._tests.get((file, line)))), ())

    def _in_order(self, mutant: str, tests: Sequence[Timed]) -> Sequence[Timed]:
        """Those first that are likely to notice the mutant."""
        of_function, of_module = self._noticed_by[_function(mutant)], self._noticed_by[_module(mutant)]
        name, in_file = f"test_{_module(mutant).rpartition('.')[2]}", Counter[Path]()
        places: dict[int, tuple[bool, bool, int]] = {}
        for _, number, _, test in sorted(tests):
            near = number in of_module or test.path.stem == name
            places[number] = number not in of_function, not near, in_file[test.path]
            in_file[test.path] += 1
        return sorted(tests, key=lambda timed: (places[timed[1]], timed))

    def _fork(self, mutant: str, tests: Sequence[Timed], number: mmap) -> int:
        """A process that tries the mutant; the number of its present test stands in `number`."""
        child = os.fork()
        if child:
            return child
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.environ["MUTANT_UNDER_TEST"] = mutant
        self._forget()
        unnoticed = False
        try:
            unnoticed = all(self._passes_in_time(timed, number) for timed in tests)
        finally:
            os._exit(not unnoticed)


def _function(mutant: str) -> str:
    return mutant.rpartition("__mutmut_")[0]


def _module(mutant: str) -> str:
    return mutant.rpartition(".")[0]


def _end(status: int) -> str:
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "noticed" if status else "unnoticed"


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try mutants in place of running the tests."""
    wanted: dict[str, Any] = json.loads(REQUEST.read_text())
    trials = Trials(session.items, {file for _, file, _ in wanted["mutants"].values()})
    VERDICTS.write_text(json.dumps(trials.run(**wanted)))
    return True
