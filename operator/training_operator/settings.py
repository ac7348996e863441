"""The settings of the operator: one immutable object, checked once; the flags of `cli` fill it."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS
from training_controllers.frameworks.pytorch.master_wait import MasterWait


class LogFormat(StrEnum):
    """The format of log lines."""

    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warn"
    ERROR = "error"


LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""One part of a DNS name, as Kubernetes has them."""
_NUMBER: Final = r"\d{1,6}(?:\.\d{1,6})?"
_DURATION: Final = re.compile(rf"(?:(?P<hours>{_NUMBER})h)?(?:(?P<minutes>{_NUMBER})m)?(?:(?P<seconds>{_NUMBER})s)?")
MOST_THREADS: Final = 10_000


def kinds_of_schemes(schemes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds that `schemes` name, in any case; raises `ValueError` with v1's words for an unknown one."""
    from training_controllers.frameworks.plugins import kinds  # noqa: PLC0415 - the help of flags needs none of it

    known = {info.singular: info.kind for info in kinds().values()} if schemes else {}
    for scheme in schemes:
        if scheme.lower() not in known:
            raise ValueError(f"scheme {scheme} is not supported yet; known are: {', '.join(known)}")
    return tuple(dict.fromkeys(known[scheme.lower()] for scheme in schemes))


def _address(value: str) -> str:
    if value == "0":
        return value
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ValueError(f"{value!r} must be HOST:PORT or :PORT, or 0 to serve nothing")
    return value


def _namespace(value: str) -> str:
    if value and not (LABEL.fullmatch(value) and len(value) <= 63):
        raise ValueError(f"{value!r} must be the name of a namespace: at most 63 lower case letters, digits and '-'")
    return value


def _domain(value: str) -> str:
    if not all(LABEL.fullmatch(label) for label in value.removesuffix(".").split(".")) or len(value) > 253:
        raise ValueError(f"{value!r} must be a name of lower case letters, digits, '-' and '.'")
    return value


def _domain_or_none(value: str) -> str:
    return value and _domain(value)


def _image(value: str) -> str:
    if not value or any(letter.isspace() for letter in value):
        raise ValueError(f"{value!r} must be the name of an image")
    return value


def _scheduler(value: str) -> str:
    _domain_or_none(value.lower())
    return value


def _duration(value: timedelta | str | None) -> timedelta | None:
    """Read a duration as Go writes it, `90s` or `1h30m`."""
    if not isinstance(value, str):
        return value
    parts = _DURATION.fullmatch(value)
    amounts = {unit: float(amount) for unit, amount in parts.groupdict().items() if amount} if parts else {}
    if not amounts or not any(amounts.values()):
        raise ValueError(f"{value!r} must be a duration above 0 such as 90s, 5m or 1h30m")
    return timedelta(**amounts)


Address = Annotated[str, AfterValidator(_address)]
Namespace = Annotated[str, AfterValidator(_namespace)]
Domain = Annotated[str, AfterValidator(_domain)]
Image = Annotated[str, AfterValidator(_image)]


class Settings(BaseModel):
    """Flags of v1 and their defaults; the operator has no other configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kubeconfig: str = ""
    namespace: Namespace = ""
    """The only namespace to watch; empty for all."""
    operator_namespace: Namespace = ""
    """Where the lease lives; empty for the namespace of the pod, or `kubeflow` outside of one."""
    enable_scheme: Annotated[tuple[str, ...], AfterValidator(kinds_of_schemes)] = ()
    controller_threads: int = Field(default=48, ge=1, le=MOST_THREADS)
    """Jobs of one kind that are reconciled at once (K-01)."""
    max_replicas: int = Field(default=MAX_REPLICAS, ge=1, le=MOST_REPLICAS)
    """Most replicas of one type; the CRDs say the same by default."""
    kube_api_qps: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Requests per second; None for no limit (K-01)."""
    kube_api_burst: int = Field(default=30, ge=1)
    metrics_bind_address: Address = ":8080"
    health_probe_bind_address: Address = ":8081"
    leader_elect: bool = False
    force: bool = False
    """Whether to start next to another operator."""
    leader_election_id: Domain = "1ca428e5.training-operator.kubeflow.org"
    gang_scheduler_name: Annotated[str, AfterValidator(_scheduler)] = ""
    """The gang scheduler: `volcano`, the name of a scheduler with scheduler-plugins, or empty for none."""
    replace_pods_on_lost_nodes_after: Annotated[timedelta | None, BeforeValidator(_duration)] = None
    """For how long a node has to be gone or not ready until pods on it are deleted by force; None for never."""
    pytorch_init_container: MasterWait = MasterWait.IMAGE
    """How workers of PyTorchJobs wait for their master, where the job does not say it."""
    pytorch_init_container_image: Image = "alpine:3.10"
    pytorch_init_container_template_file: str = "/etc/config/initContainer.yaml"
    pytorch_init_container_max_tries: int = Field(default=100, ge=1)
    mpi_kubectl_delivery_image: Image = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"
    cluster_domain: Annotated[str, AfterValidator(_domain_or_none)] = ""
    """What names of TFJob replicas end in, after `svc`: `cluster.local`, for example."""
    log_format: LogFormat | None = None
    """None: for users on a terminal, JSON elsewhere (K-67)."""
    log_level: LogLevel = LogLevel.INFO
    without_effect: tuple[str, ...] = ()
    """Flags that were given and have no effect, to be named in one log line."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds to run: those of --enable-scheme, else all that have a controller."""
        from training_controllers.frameworks.registry import frameworks  # noqa: PLC0415 - as above

        return self.enable_scheme or tuple(frameworks())
