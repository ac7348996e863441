"""`training-operator run`: the operator, with v1's flags."""

from __future__ import annotations

from typing import Any, Final

import click
import cloup
from pydantic import ValidationError

from training_controllers.frameworks.pytorch.master_wait import MasterWait
from training_operator.settings import LogFormat, LogLevel, Settings

DEFAULTS: Final = Settings()
SCHEMES: Final = ("pytorchjob", "tfjob", "xgboostjob", "mpijob", "paddlejob", "jaxjob")
ZAP_LEVELS: Final = {"debug": LogLevel.DEBUG, "info": LogLevel.INFO, "error": LogLevel.ERROR, "panic": LogLevel.ERROR}

JOBS = cloup.OptionGroup("Jobs")
API = cloup.OptionGroup("Kubernetes API")
SERVING = cloup.OptionGroup("Serving")
LOGS = cloup.OptionGroup("Logs")
OLD = cloup.OptionGroup("Without effect, accepted for compatibility with v1")


@cloup.command()
@JOBS.option(
    "--enable-scheme",
    multiple=True,
    metavar="KIND",
    show_default=False,
    help=f"A kind to run, case-insensitive; repeatable. One of {', '.join(SCHEMES)}, or of "
    "an installed package. Default: every kind.",
)
@JOBS.option("--namespace", envvar="KUBEFLOW_NAMESPACE", show_envvar=True, help="The only namespace to watch.")
@JOBS.option("--controller-threads", type=int, help="Jobs of one kind that are reconciled concurrently.")
@JOBS.option(
    "--max-replicas",
    type=int,
    help="Maximum replicas of one type; jobs with more are rejected. Above 10,000 the CRDs have to allow it too.",
)
@JOBS.option(
    "--gang-scheduler-name",
    help="Gang scheduler: `volcano`, or the name of a scheduler with scheduler-plugins. Default: none.",
)
@JOBS.option(
    "--replace-pods-on-lost-nodes-after",
    metavar="DURATION",
    help="Force-delete and replace pods whose node has been deleted or not ready for this time: 90s, 5m, "
    "1h30m. Default: never.",
)
@JOBS.option(
    "--pytorch-init-container",
    type=click.Choice([each.value for each in MasterWait]),
    help="How workers of a PyTorchJob wait for its master: in the image of the next flag, in their own, or not at all.",
)
@JOBS.option("--pytorch-init-container-image", help="Image of the container that waits for a PyTorchJob's master.")
@JOBS.option("--pytorch-init-container-template-file", help="Replaces that container's template, if it exists.")
@JOBS.option(
    "--pytorch-init-container-max-tries", type=int, help="Maximum attempts of that container to resolve the master."
)
@JOBS.option(
    "--mpi-kubectl-delivery-image", help="Image of the init container that installs kubectl for an MPIJob's launcher."
)
@JOBS.option(
    "--cluster-domain",
    envvar="CUSTOM_CLUSTER_DOMAIN",
    show_envvar=True,
    help="DNS domain of the cluster; names of TFJob replicas end with it.",
)
@API.option("--kubeconfig", help="Default: KUBECONFIG, the pod's service account, ~/.kube/config.")
@API.option("--kube-api-qps", type=float, help="Requests per second. Default: no limit.")
@API.option("--kube-api-burst", type=int, help="Burst of requests above --kube-api-qps.")
@API.option("--leader-elect/--no-leader-elect", help="Reconcile only while holding the Lease.")
@API.option(
    "--force/--no-force", help="Start without --leader-elect even if another operator reconciles the same jobs."
)
@API.option("--leader-election-id", help="Name of the Lease.")
@API.option(
    "--operator-namespace",
    envvar="MY_POD_NAMESPACE",
    show_envvar=True,
    help="Namespace of the Lease. Default: the operator's.",
)
@SERVING.option("--metrics-bind-address", help="Address of /metrics; 0 turns it off.")
@SERVING.option("--health-probe-bind-address", help="Address of /healthz and /readyz; 0 turns them off.")
@LOGS.option("--zap-encoder", type=click.Choice([each.value for each in LogFormat]), help="Default: console on a TTY.")
@LOGS.option("--zap-log-level", help="debug, info, error, panic, or a number above 0 for debug.")
@OLD.option("--webhook-server-port", type=int, help="There is no webhook: the CRDs validate jobs.")
@OLD.option("--webhook-service-name", help="There is no webhook.")
@OLD.option("--webhook-secret-name", help="There is no webhook.")
@OLD.option("--zap-devel/--no-zap-devel", default=None, help="Use --zap-encoder and --zap-log-level.")
@OLD.option("--zap-stacktrace-level", help="Internal errors always have a stack trace.")
@OLD.option("--zap-time-encoding", help="Times are ISO 8601, in UTC.")
@click.pass_context
def run(ctx: click.Context, /, **flags: Any) -> None:
    """Run the operator against a cluster until SIGTERM."""
    settings = _settings(ctx, flags)
    from training_operator.serve import serve  # noqa: PLC0415 - --help needs none of it

    ctx.exit(serve(settings))


run.context_settings["default_map"] = {name: value for name, value in DEFAULTS.model_dump(mode="json").items() if value}


def _settings(ctx: click.Context, flags: dict[str, Any]) -> Settings:
    """Turn the flags into settings; a bad value ends the process with one sentence that names the flag."""
    given = {name: value for name, value in flags.items() if name in Settings.model_fields and value is not None}
    given["log_format"] = flags["zap_encoder"]
    given["log_level"] = _level(flags["zap_log_level"])
    given["without_effect"] = tuple(
        option.opts[0]
        for option in OLD.options
        if option.name and ctx.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    )
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        why = str(first.get("ctx", {}).get("error", first["msg"]))
        raise click.UsageError(f"{flag}: {why}", ctx) from None


def _level(text: str | None) -> LogLevel:
    if text is None:
        return DEFAULTS.log_level
    if text.isdecimal():
        return LogLevel.DEBUG if int(text) > 0 else LogLevel.INFO
    if text not in ZAP_LEVELS:
        raise click.UsageError(f"--zap-log-level: {text!r} must be one of {', '.join(ZAP_LEVELS)}, or a number")
    return ZAP_LEVELS[text]
