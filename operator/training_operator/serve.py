"""The process around the operator: logs, event loop, signals, exit status."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

from training_api.printable import legible
from training_controllers.frameworks.pytorch.init_container import BadTemplate
from training_operator import __version__, descriptors, logs
from training_operator.app import OUTSIDE, App
from training_operator.computing import Beside
from training_operator.health import CannotListen
from training_operator.kube.config import ClusterConfig, ConfigError, load
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request, Transport
from training_operator.leader import LeadershipLost
from training_operator.other_operator import AnotherOperator, detect, rejection
from training_operator.settings import Settings

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
CONNECTION_SECONDS: Final = 15.0


def serve(settings: Settings) -> int:
    """Run the operator until SIGTERM or SIGINT; return the exit status, 0 for an end in good order (K-51)."""
    descriptors.open_standard_streams()
    descriptors.raise_soft_limit()
    logs.configure(settings.log_format, settings.log_level)
    log = structlog.get_logger()
    if settings.without_effect:
        log.warning("flags without effect, see --help", flags=list(settings.without_effect))
    try:
        _runner()(_serve(settings))
    except* (AnotherOperator, ConfigError, BadTemplate, CannotListen) as group:
        print(f"training-operator: {legible(str(_first(group)))}", file=sys.stderr)
        status = EXIT_USAGE
    except* LeadershipLost as group:
        log.error("leadership lost", error=str(_first(group)))
        status = EXIT_FAILED
    else:
        log.info("stopped")
        status = 0
    return status


async def _serve(settings: Settings) -> None:
    stop = _stop_on_signals()
    config = await load(settings.kubeconfig)
    structlog.get_logger().info("starting", version=__version__, server=config.server, config=config.source)
    transport = HttpTransport(config)
    try:
        await check_connection(transport, config)
        namespace = settings.operator_namespace or config.namespace
        if not settings.leader_elect and not settings.force:
            await reject_second(transport, settings, namespace or OUTSIDE)
        app = App(settings.model_copy(update={"operator_namespace": namespace}), transport, compute=Beside())
        async with asyncio.TaskGroup() as tasks:
            freezing = tasks.create_task(_freeze_after_sync(app))
            await app.run(stop)
            freezing.cancel()
    finally:
        await transport.close()


async def check_connection(transport: Transport, config: ClusterConfig) -> None:
    """Raise `ConfigError` unless an API server answers and accepts our credentials."""
    try:
        answer = await transport.request(Request("GET", "/version", timeout=CONNECTION_SECONDS))
    except OSError as error:
        why = str(error) or f"no response within {CONNECTION_SECONDS:g} s"
        raise ConfigError(f"no API server can be reached at {config.server} (from {config.source}): {why}") from None
    if answer.status == 401:
        raise ConfigError(
            f"the API server {config.server} does not accept the credentials of {config.source}: "
            "they are wrong or have expired"
        )


async def reject_second(transport: Transport, settings: Settings, namespace: str) -> None:
    """Raise `AnotherOperator` if there is one in the cluster; log what could not be checked."""
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    detected = await detect(transport, namespace, settings.leader_election_id, in_pod=in_pod)
    if detected.signs:
        raise rejection(detected, namespace)
    if detected.unseen:
        structlog.get_logger().info(
            "cannot check whether another operator runs in this cluster: continuing without --leader-elect",
            unseen=list(detected.unseen),
        )


def _stop_on_signals() -> asyncio.Event:
    """Return what the first signal sets; a second one ends the process at once."""
    stop = asyncio.Event()

    def signalled() -> None:
        if stop.is_set():
            os._exit(EXIT_FAILED)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled)
    return stop


async def _freeze_after_sync(app: App) -> None:
    """Keep the garbage collector away from what the caches hold for good."""
    await app.wait_synced()
    gc.collect()
    gc.freeze()


def _runner() -> Callable[[Coroutine[Any, Any, None]], None]:
    """Return what runs the event loop: uvloop's where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return asyncio.run
    return uvloop.run


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
