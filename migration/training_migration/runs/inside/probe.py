"""Tests the wiring of a job from inside of one of its pods: who am I, do I know the others, do we reach each other.

Takes the place of the training program: standard library only, Python 3.7 and newer. Its one argument is JSON:
`{"names": [...], "hosts": [...], "seconds": n}`, what the script would read its rank from, the host names of all pods,
and how long to wait for others. It writes one line to standard error; its exit status is 0 if all is well.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple  # noqa: UP035 - Python 3.7 and 3.8

Json = Dict[str, Any]  # noqa: UP006 - Python 3.7 and 3.8

MARKER = "training-probe: "
"""Before the JSON of the line."""
WIRING = re.compile(
    "(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|WORKER_ADDRS|WORKER_PORT|PET_.*|JAX_(NUM|PROCESS|COORD).*"
    "|COORDINATOR_.*|NUM_PROCESSES|PROCESS_ID|DMLC_.*|TF_CONFIG|PADDLE_.*|OMPI_MCA_.*|JOB_COMPLETION_INDEX)$"
)
MOST_NAMES = 64
PAUSE = 0.2


class Unwired(Exception):
    """The variables that the script would read are not there; the text says which."""


class Wiring:
    """What the variables say about this process."""

    def __init__(self, rank: Optional[int], size: int, host: str, port: int) -> None:  # noqa: UP045 - Python 3.7
        self.rank, self.size, self.host, self.port = rank, size, host, port


def _variables(*names: str) -> List[str]:  # noqa: UP006
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise Unwired("not set: " + ", ".join(missing))
    return [os.environ[name] for name in names]


def _ranks() -> Wiring:
    rank, size, host, port = _variables("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return Wiring(int(rank), int(size), host, int(port))


class _Pods:
    """How many pods the job has."""

    count = 0


def _torchrun() -> Wiring:
    least, _, most = _variables("PET_NNODES")[0].partition(":")
    nodes = min(max(_Pods.count, int(least)), int(most or least))  # an elastic job takes all that come
    if os.environ.get("PET_RDZV_ENDPOINT"):
        host, _, port = os.environ["PET_RDZV_ENDPOINT"].rpartition(":")
        return Wiring(None, nodes, host, int(port))
    rank, host, port = _variables("PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
    return Wiring(int(rank), nodes, host, int(port))


def _coordinator() -> Wiring:
    rank, size, host, port = _variables("PROCESS_ID", "NUM_PROCESSES", "COORDINATOR_ADDRESS", "COORDINATOR_PORT")
    return Wiring(int(rank), int(size), host, int(port))


def _jax() -> Wiring:
    rank, size, address = _variables("JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS")
    host, _, port = address.rpartition(":")
    return Wiring(int(rank), int(size), host, int(port))


def _tracker() -> Wiring:
    rank, size, host, port = _variables("DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_TRACKER_URI", "DMLC_TRACKER_PORT")
    return Wiring(int(rank), int(size), host, int(port))


def _tensorflow() -> Wiring:
    config = json.loads(_variables("TF_CONFIG")[0])
    order = ("chief", "master", "worker", "ps", "evaluator")
    members = [(role, i, address) for role in order for i, address in enumerate(config["cluster"].get(role, []))]
    task = config["task"]["type"].lower(), int(config["task"]["index"])
    rank = [(role, i) for role, i, _ in members].index(task)
    host, _, port = members[0][2].rpartition(":")
    return Wiring(rank, len(members), host, int(port))


def _paddle() -> Wiring:
    master, nodes = _variables("PADDLE_MASTER", "PADDLE_NNODES")
    host, _, port = master.rpartition(":")
    return Wiring(None, int(nodes), host, int(port))


READERS: Dict[str, Callable[[], Wiring]] = {  # noqa: UP006
    "RANK": _ranks,
    "PET": _torchrun,
    "COORDINATOR": _coordinator,
    "JAX": _jax,
    "DMLC": _tracker,
    "TF_CONFIG": _tensorflow,
    "PADDLE": _paddle,
}
"""What a script may read its rank from."""


def _read(names: List[str]) -> Tuple[Wiring, str]:  # noqa: UP006
    troubles = []
    for name in names:
        try:
            return READERS[name](), name
        except Unwired as error:
            troubles.append(str(error))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            troubles.append(f"{name} cannot be read: {error}")
    raise Unwired("; ".join(troubles))


def _addresses(name: str) -> List[str]:  # noqa: UP006
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError:
        return []


def _resolve(name: str, deadline: float) -> Optional[float]:  # noqa: UP045
    """Return after how many seconds a name had an address; None if it never had."""
    begun = time.monotonic()
    while True:
        if _addresses(name):
            return round(time.monotonic() - begun, 3)
        if time.monotonic() > deadline:
            return None
        time.sleep(PAUSE)


def _resolve_all(names: List[str], deadline: float) -> Json:  # noqa: UP006
    found: Json = {}
    threads = [
        threading.Thread(target=lambda name=name: found.update({name: _resolve(name, deadline)}), daemon=True)
        for name in names[:MOST_NAMES]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _line_of(connection: socket.socket) -> Json:
    with connection.makefile("r") as stream:
        result: Json = json.loads(stream.readline() or "{}")
    return result


def _send(connection: socket.socket, content: Json) -> None:
    connection.sendall((json.dumps(content) + "\n").encode())


def _listen(wiring: Wiring, me: Json, deadline: float) -> Json:
    """Wait for all others; answer each whether all came, and with ranks that differ."""
    heard = [me]
    connections = []
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", wiring.port))
        server.listen(wiring.size)
        while len(heard) < wiring.size and time.monotonic() < deadline:
            server.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                connection, _ = server.accept()
                connection.settimeout(5.0)
                heard.append(_line_of(connection))
                connections.append(connection)
            except (OSError, ValueError):
                continue
    ids = [each.get("rank") if each.get("rank") is not None else each.get("host") for each in heard]
    why = ""
    if len(heard) < wiring.size:
        why = f"{len(heard)} of {wiring.size} came"
    elif len(set(ids)) < len(ids):
        why = f"several have the same rank: {sorted(ids, key=str)}"
    # Who has no rank gets one, as from the launchers that read the same variables.
    ranks = [number if each.get("rank") is None else each["rank"] for number, each in enumerate(heard)]
    for number, connection in enumerate(connections, 1):
        try:
            _send(connection, {"ok": not why, "why": why, "rank": ranks[number]})
            connection.close()
        except OSError:
            pass
    return {"ok": not why, "why": why, "rank": ranks[0], "heard": sorted(ranks[1:])}


def _connect(wiring: Wiring, me: Json, deadline: float) -> Json:
    """Send the coordinator who we are, and hear what it has found."""
    begun, trouble = time.monotonic(), "no process listens"
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((wiring.host, wiring.port), 5.0) as connection:
                seconds = round(time.monotonic() - begun, 3)
                _send(connection, me)
                connection.settimeout(max(deadline + 10.0 - time.monotonic(), 1.0))
                answer = _line_of(connection)
                result = {"ok": bool(answer.get("ok")), "why": answer.get("why", "the coordinator has hung up")}
                return {**result, "rank": answer.get("rank", me["rank"]), "connected": seconds, "heard": [0]}
        except (OSError, ValueError) as error:
            trouble = str(error)
            time.sleep(PAUSE)
    return {"ok": False, "why": f"{wiring.host}:{wiring.port} cannot be reached: {trouble}"}


def _meet(names: List[str], deadline: float) -> Json:  # noqa: UP006
    try:
        wiring, read_from = _read(names)
    except Unwired as error:
        return {"ok": False, "why": str(error), "rank": None}
    result: Json = {"rank": wiring.rank, "worldSize": wiring.size, "by": read_from}
    result["coordinator"] = f"{wiring.host}:{wiring.port}"
    me = {"rank": wiring.rank, "host": socket.gethostname()}
    after = _resolve(wiring.host, deadline)
    if after is None:
        return {**result, "ok": False, "why": f"{wiring.host} has no address"}
    result["resolved"] = after
    own = set(_addresses(socket.gethostname())) | {"127.0.0.1"}
    first = wiring.rank == 0 if wiring.rank is not None else bool(own & set(_addresses(wiring.host)))
    try:
        return {**result, **(_listen if first else _connect)(wiring, me, deadline)}
    except OSError as error:
        return {**result, "ok": False, "why": f"port {wiring.port}: {error}"}


def _enter_hosts(deadline: float) -> Json:
    """For an MPI launcher: start a program on each host of the host file as mpirun would."""
    try:
        text = Path(_variables("OMPI_MCA_orte_default_hostfile")[0]).read_text()
        lines = [line.split() for line in text.splitlines() if line.split() and not line.startswith("#")]
    except (OSError, Unwired) as error:
        return {"ok": False, "why": f"host file: {error}", "rank": None}
    agent = shlex.split(os.environ.get("OMPI_MCA_plm_rsh_agent") or "ssh")  # noqa: SIM112 - its name
    agent += shlex.split(os.environ.get("OMPI_MCA_plm_rsh_args") or "")  # noqa: SIM112 - its name
    slots = sum(int(word[6:]) for line in lines for word in line[1:] if word.startswith("slots=")) or len(lines)
    entered, silent = [], []
    for host in [line[0] for line in lines]:
        while True:
            command = [*agent, host, "true"]
            try:
                if subprocess.run(command, stdin=subprocess.DEVNULL, timeout=30).returncode == 0:  # noqa: PLW1510
                    entered.append(host)
                    break
            except (OSError, subprocess.TimeoutExpired):
                pass
            if time.monotonic() > deadline:
                silent.append(host)
                break
            time.sleep(1.0)
    why = f"cannot be entered: {', '.join(silent)}" if silent else ""
    return {"ok": not why, "why": why, "rank": None, "worldSize": slots, "by": "host file", "entered": entered}


def main(given: Json) -> int:
    """Test, write the line, and return the exit status."""
    import resource  # noqa: PLC0415 - this module is read on Windows, too, and runs in pods only

    # The first process of a container takes no notice of SIGTERM unless it says so.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    deadline = time.monotonic() + float(given["seconds"])
    _Pods.count = len(given["hosts"])
    names: Json = {}
    resolving = threading.Thread(target=lambda: names.update(_resolve_all(given["hosts"], deadline)))
    resolving.start()
    result = _enter_hosts(deadline) if given["names"] == ["MPI"] else _meet(given["names"], deadline)
    resolving.join()
    result.update(
        host=socket.gethostname(),
        addresses=_addresses(socket.gethostname()),
        time=time.time(),
        nameSeconds=names,
        openFiles=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        devices=sorted(map(str, Path("/dev").glob("nvidia[0-9]*"))),
        variables={name: value for name, value in os.environ.items() if WIRING.match(name)},
    )
    os.write(2, (MARKER + json.dumps(result, sort_keys=True) + "\n").encode())
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
