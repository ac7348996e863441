"""Reports on standard error which rank of how many a process became. Python imports it at the start of each program.

Standard library only, Python 3.7 and newer. It only looks, and only if TRAINING_WITNESS is 1; training must not notice
whatever goes wrong in here. A `sitecustomize` that an image has of its own is run as well.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import socket
import sys
import time
from types import ModuleType
from typing import Any, Callable, Dict, List  # noqa: UP035 - Python 3.7 and 3.8

Json = Dict[str, Any]  # noqa: UP006 - Python 3.7 and 3.8

MARKER = "training-witness: "
"""Before the JSON of each line."""
WIRING = re.compile(
    "(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|WORKER_ADDRS|WORKER_PORT|PET_.*|JAX_(NUM|PROCESS|COORD).*"
    "|COORDINATOR_.*|NUM_PROCESSES|PROCESS_ID|DMLC_.*|TF_CONFIG|PADDLE_.*|OMPI_MCA_orte_.*|OMPI_COMM_WORLD_.*"
    "|JOB_COMPLETION_INDEX)$"
)
"""The variables by which ranks find each other."""


class _Process:
    """Whether this process has reported."""

    emitted = False


def _write(content: Json) -> None:
    known = {name: value for name, value in os.environ.items() if WIRING.match(name)}
    line = {**content, "host": socket.gethostname(), "pid": os.getpid(), "time": time.time(), "variables": known}
    os.write(2, (MARKER + json.dumps(line, sort_keys=True) + "\n").encode())


def _report(look: Callable[[], Json]) -> None:
    with contextlib.suppress(Exception):  # whatever goes wrong in here must not reach the training
        content = look()
        if content:
            _Process.emitted = True
            _write({"event": "met", **content})


def _report_alone() -> None:
    if not _Process.emitted:
        with contextlib.suppress(Exception):
            _write({"event": "alone"})


def _after(owner: Any, name: str, look: Callable[[], Json]) -> None:
    """Let a function of a module report when it has returned."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def emitted(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        _report(look)
        return result

    setattr(owner, name, emitted)


def _local_rank(*names: str) -> int:
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), 0)


def _torch(module: Any) -> None:
    def look() -> Json:
        ranks = {"rank": module.get_rank(), "worldSize": module.get_world_size()}
        return {**ranks, "localRank": _local_rank("LOCAL_RANK"), "backend": str(module.get_backend())}

    _after(module, "init_process_group", look)


def _jax(module: Any) -> None:
    def look() -> Json:
        # Not jax.process_index(): that would choose the devices before the script does.
        state = module.global_state
        return {"rank": state.process_id, "worldSize": state.num_processes, "localRank": 0, "backend": "jax"}

    _after(module, "initialize", look)


def _xgboost(module: Any) -> None:
    def look() -> Json:
        ranks = {"rank": module.get_rank(), "worldSize": module.get_world_size()}
        return {**ranks, "localRank": 0, "backend": "xgboost"}

    _after(module, "init", look)


def _paddle(module: Any) -> None:
    def look() -> Json:
        rank, size = os.environ.get("PADDLE_TRAINER_ID", "0"), os.environ.get("PADDLE_TRAINERS_NUM", "1")
        local = _local_rank("PADDLE_RANK_IN_NODE", "PADDLE_LOCAL_RANK")
        return {"rank": int(rank), "worldSize": int(size), "localRank": local, "backend": "paddle"}

    _after(module, "init_parallel_env", look)


def _mpi(module: Any) -> None:
    def look() -> Json:
        if not module.Is_initialized():
            return {}
        world = module.COMM_WORLD
        ranks = {"rank": world.Get_rank(), "worldSize": world.Get_size()}
        return {**ranks, "localRank": _local_rank("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"), "backend": "mpi"}

    _report(look)  # the import initializes, unless the script has forbidden it
    _after(module, "Init", look)
    _after(module, "Init_thread", look)


def _task() -> Json:
    """Who TF_CONFIG says that this is: a task of one type, counted within the type."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task = config.get("task") or {}
    members = (config.get("cluster") or {}).get(task.get("type"), [])
    return {"rank": int(task["index"]), "worldSize": len(members), "group": task["type"]} if task else {}


def _tensorflow_workers(module: Any) -> None:
    def look() -> Json:
        task = _task() or {"rank": 0, "worldSize": 1, "group": ""}
        return {**task, "localRank": 0, "backend": "tensorflow"}

    _after(module.CollectiveAllReduceStrategy, "__init__", look)


def _tensorflow_chief(module: Any) -> None:
    _after(module.ParameterServerStrategyV2, "__init__", lambda: {**_task(), "localRank": 0, "backend": "tensorflow"})


def _tensorflow_server(module: Any) -> None:
    _after(module.Server, "__init__", lambda: {**_task(), "localRank": 0, "backend": "tensorflow"})


_PATCHES: Dict[str, Callable[[Any], None]] = {  # noqa: UP006 - Python 3.7 and 3.8
    "torch.distributed.distributed_c10d": _torch,
    "jax._src.distributed": _jax,
    "xgboost.collective": _xgboost,
    "paddle.distributed.parallel": _paddle,
    "mpi4py.MPI": _mpi,
    "tensorflow.python.distribute.collective_all_reduce_strategy": _tensorflow_workers,
    "tensorflow.python.distribute.parameter_server_strategy_v2": _tensorflow_chief,
    "tensorflow.python.training.server_lib": _tensorflow_server,
}
"""Module that initializes a framework -> what makes it report."""


class _Loader:
    """Loads a module as its own loader does, then patches it."""

    def __init__(self, loader: Any, patch: Callable[[Any], None]) -> None:
        self._loader, self._patch = loader, patch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Return the module that the loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, and patch it if that is possible."""
        self._loader.exec_module(module)
        with contextlib.suppress(Exception):  # another release of the framework: there will be no witness
            self._patch(module)


class _Finder:
    """Finds the modules to patch where the other finders find them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how to load one of the modules to patch, the first time that it is asked for."""
        patch = _PATCHES.pop(name, None)
        if patch is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None and hasattr(spec.loader, "exec_module"):
                spec.loader = _Loader(spec.loader, patch)
                return spec
        return None


def _run_next() -> None:
    """Run the `sitecustomize` that this one hides."""
    # A kubelet mounts a ConfigMap as links to files of another folder: what counts is where the link lies.
    own = os.path.realpath(os.path.dirname(__file__))  # noqa: PTH120 - pathlib would slow every start down
    others: List[str] = [folder for folder in sys.path if os.path.realpath(folder or ".") != own]  # noqa: UP006
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("TRAINING_WITNESS") == "1":
    sys.meta_path.insert(0, _Finder())
    atexit.register(_report_alone)
if __name__ == "sitecustomize":
    _run_next()
