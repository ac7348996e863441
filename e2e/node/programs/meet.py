"""What a replica runs: it meets all others of its job where the operator's variables say, and fails if one is missing.

`meet.py KIND`, with the standard library only; the variables are those that the kind's framework reads.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Final

LIMIT: Final = 60.0
"""Seconds until everybody must have come."""
HOST: Final = socket.gethostname()


def main() -> int:
    """Meet the others; the exit status is 1 if the meeting was not complete."""
    met = MEETINGS[sys.argv[1]]()
    print(f"{HOST} met {' '.join(met)}", flush=True)
    return 0


def pytorch() -> list[str]:
    """`torch.distributed`: every rank connects to rank 0."""
    variables = os.environ
    rank, world_size = int(variables["RANK"]), int(variables["WORLD_SIZE"])
    return around_rank_0(rank, world_size, variables["MASTER_ADDR"], int(variables["MASTER_PORT"]))


def xgboost() -> list[str]:
    """The same, and the workers know one another's names."""
    workers = os.environ["WORKER_ADDRS"].split(",")
    check(len(workers) == int(os.environ["WORLD_SIZE"]) - 1, f"workers are {workers}")
    for worker in workers:
        resolve(worker)
    return pytorch()


def jax() -> list[str]:
    """`jax.distributed`: every process connects to process 0."""
    variables = os.environ
    rank, world_size = int(variables["PROCESS_ID"]), int(variables["NUM_PROCESSES"])
    return around_rank_0(rank, world_size, variables["COORDINATOR_ADDRESS"], int(variables["COORDINATOR_PORT"]))


def paddle() -> list[str]:
    """`paddle.distributed.launch`: ranks are unknown; who has the master's own address in PADDLE_MASTER serves."""
    host, port = os.environ["PADDLE_MASTER"].rsplit(":", 1)
    nodes = int(os.environ["PADDLE_NNODES"])
    if "POD_IP_DUMMY" in os.environ:
        check(host == os.environ["POD_IP_DUMMY"], f"PADDLE_MASTER has {host}, not this pod's own address")
        return gather(HOST, nodes, int(port))
    return join(HOST, host, int(port))


def tensorflow() -> list[str]:
    """TF_CONFIG: every task listens at its own address, and connects to all others'."""
    config = json.loads(os.environ["TF_CONFIG"])
    task = config["task"]
    own = f"{task['type']}/{task['index']}"
    tasks = {
        f"{type_}/{index}": address
        for type_, addresses in config["cluster"].items()
        for index, address in enumerate(addresses)
    }
    with listening(int(tasks.pop(own).rsplit(":", 1)[1])) as server:
        for address in tasks.values():
            host, port = address.rsplit(":", 1)
            with connected(host, int(port)) as connection:
                say(connection, own)
        came = []
        for _ in tasks:
            with server.accept()[0] as connection:
                came.append(hear(connection))
    check(sorted(came) == sorted(tasks), f"expected {sorted(tasks)}, but these came: {sorted(came)}")
    return sorted(came)


MEETINGS: Final[dict[str, Callable[[], list[str]]]] = {
    "PyTorchJob": pytorch,
    "XGBoostJob": xgboost,
    "JAXJob": jax,
    "PaddleJob": paddle,
    "TFJob": tensorflow,
}


def around_rank_0(rank: int, world_size: int, address: str, port: int) -> list[str]:
    """Names `rank/world size` of all ranks, as rank 0 has collected them."""
    own = f"{rank}/{world_size}"
    if rank:
        return join(own, address, port)
    found = resolve(address)
    check(found == socket.gethostbyname(HOST), f"{address} is {found}, which is not the address of rank 0")
    met = gather(own, world_size, port)
    expected = [f"{each}/{world_size}" for each in range(world_size)]
    check(sorted(met) == sorted(expected), f"expected {expected}, but these came: {met}")
    return met


def gather(own: str, count: int, port: int) -> list[str]:
    """Wait for `count` - 1 others at `port`, then tell everybody who came."""
    met, connections = [own], []
    with listening(port) as server:
        while len(met) < count:
            connection, _ = server.accept()
            connections.append(connection)
            met.append(hear(connection))
    check(len(set(met)) == count, f"two have the same name: {met}")
    for connection in connections:
        with connection:
            say(connection, " ".join(met))
    return met


def join(own: str, host: str, port: int) -> list[str]:
    """Tell the master our name, and hear from it who came."""
    with connected(host, port) as connection:
        say(connection, own)
        met = hear(connection).split()
    check(own in met, f"the master did not count {own}: {met}")
    return met


def listening(port: int) -> socket.socket:
    """A server that gives up when no client connects."""
    server = socket.create_server(("", port), backlog=64)
    server.settimeout(LIMIT)
    return server


def connected(host: str, port: int) -> socket.socket:
    """A connection, as soon as the other one listens."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            # A name may have the address of a pod that is gone, where nothing ever answers.
            return socket.create_connection((resolve(host), port), timeout=2)
        except OSError as error:
            check(time.monotonic() < deadline, f"cannot connect to {host}:{port}: {error}")
        time.sleep(0.1)


def resolve(host: str) -> str:
    """The address of `host`, as soon as it has one."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError as error:
            check(time.monotonic() < deadline, f"{host} does not resolve: {error}")
        time.sleep(0.1)


def say(connection: socket.socket, text: str) -> None:
    """Send one line."""
    connection.sendall(f"{text}\n".encode())


def hear(connection: socket.socket) -> str:
    """Receive one line."""
    connection.settimeout(LIMIT)
    with connection.makefile() as lines:
        return lines.readline().strip()


def check(condition: bool, message: str) -> None:
    """End with status 1 unless `condition` holds."""
    if not condition:
        sys.exit(f"{HOST}: {message}")


if __name__ == "__main__":
    sys.exit(main())
