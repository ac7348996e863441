"""`python -m e2e.fidelity`: record the answers of a real API server again, or of some cases only."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from e2e.fidelity.commands import SESSIONS
from e2e.fidelity.player import session_of
from e2e.fidelity.sessions import play_session, recording
from e2e.fidelity.suite import all_cases, play, prepare, recorded, write_recorded
from e2e.harness.binaries import KUBECTLS
from e2e.harness.providers import provide


async def record(kubeconfig: Path, wanted: Sequence[str]) -> None:
    """Play the cases whose module or name is wanted (all, if none is named) and keep their transcripts."""
    async with session_of(kubeconfig) as (session, server):
        await prepare(session, server)
        known: dict[str, set[str]] = {}
        for module, name, case in all_cases():
            known.setdefault(module, set()).add(name)
            if not wanted or module in wanted or name in wanted:
                transcripts = recorded(module)
                transcripts[name] = await play(case, session, server)
                write_recorded(module, transcripts)
                print(f"{module}.{name}: {len(transcripts[name])} steps")
        for module, names in known.items():
            write_recorded(module, {name: steps for name, steps in recorded(module).items() if name in names})


async def record_sessions(kubeconfig: Path, wanted: Sequence[str]) -> None:
    """Run the sessions with every kubectl there is, and keep what it prints."""
    for minor in KUBECTLS:
        module = recording(minor)
        known = recorded(module)
        for name in SESSIONS:
            if not wanted or name in wanted or "sessions" in wanted:
                with TemporaryDirectory() as cache:
                    known[name] = await play_session(minor, kubeconfig, name, Path(cache))
                print(f"kubectl 1.{minor} {name}: {len(known[name])} commands")
        write_recorded(module, {name: steps for name, steps in known.items() if name in SESSIONS})


async def record_all(kubeconfig: Path, wanted: Sequence[str]) -> None:
    """Record cases and sessions."""
    await record(kubeconfig, wanted)
    await record_sessions(kubeconfig, wanted)


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(prog="python -m e2e.fidelity", description=__doc__)
    parser.add_argument("cases", nargs="*", help="modules or cases; all if none is named")
    parser.add_argument("--kubeconfig", type=Path, help="of a running cluster; without it one is started")
    arguments = parser.parse_args()
    if arguments.kubeconfig:
        asyncio.run(record_all(arguments.kubeconfig, arguments.cases))
        return
    with provide("bare") as cluster:
        asyncio.run(record_all(cluster.kubeconfig, arguments.cases))


if __name__ == "__main__":
    main()
