"""The command line: `training-operator run` with v1's flags, and the commands that other packages add."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import click
import cloup
from pydantic import ValidationError

from training_api.registry import KINDS
from training_controllers.frameworks.pytorch.master_wait import MasterWait
from training_operator import __version__
from training_operator.manifest_commands import crds, rbac
from training_operator.settings import LogFormat, LogLevel, Settings

COMMANDS: Final = "training_operator.commands"
"""Entry-point group: name of a command -> its click command."""

DEFAULTS: Final = Settings()
TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
"""What Go's flag package takes for a boolean."""

SWITCHES: Final = ("leader-elect", "zap-devel")
ZAP_LEVELS: Final = {"debug": LogLevel.DEBUG, "info": LogLevel.INFO, "error": LogLevel.ERROR, "panic": LogLevel.ERROR}


class Commands(click.Group):
    """The own commands and those of the entry-point group; the latter are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=COMMANDS).names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; one that cannot be imported says what it needs."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        for entry in entry_points(group=COMMANDS, name=cmd_name):
            try:
                command: click.Command = entry.load()
            except ImportError as error:
                return _unavailable(cmd_name, error)
            return command
        return None


def _unavailable(name: str, error: ImportError) -> click.Command:
    def complain() -> None:
        raise click.ClickException(f"`{name}` needs more packages ({error}): pip install 'training-operator[{name}]'")

    ignore = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=complain, context_settings=ignore, help="Not installed.")


@click.group(cls=Commands, context_settings={"show_default": True, "max_content_width": 110})
@click.version_option(__version__, message="training-operator %(version)s")
def command() -> None:
    """Run distributed training jobs (kubeflow.org/v1) on Kubernetes, or on this machine without any cluster."""


JOBS = cloup.OptionGroup("Jobs")
API = cloup.OptionGroup("Kubernetes API")
SERVING = cloup.OptionGroup("Serving")
LOGS = cloup.OptionGroup("Logs")
OLD = cloup.OptionGroup("Without effect, accepted for v1's sake")


@command.command(cls=cloup.Command)
@JOBS.option(
    "--enable-scheme",
    multiple=True,
    metavar="KIND",
    show_default=False,
    help=f"A kind to run, in any case; repeatable. One of {', '.join(info.singular for info in KINDS.values())}, or of "
    "an installed package. Default: every kind.",
)
@JOBS.option("--namespace", envvar="KUBEFLOW_NAMESPACE", show_envvar=True, help="The only namespace to watch.")
@JOBS.option("--controller-threads", type=int, help="Jobs of one kind that are reconciled at once.")
@JOBS.option(
    "--max-replicas",
    type=int,
    help="Most replicas of one type; a job with more is not run. Beyond 10,000 the CRDs have to allow it, too.",
)
@JOBS.option(
    "--gang-scheduler-name",
    help="The scheduler that places the pods of a job together: `volcano`, or the name of one with scheduler-plugins. "
    "Default: none.",
)
@JOBS.option(
    "--replace-pods-on-lost-nodes-after",
    metavar="DURATION",
    help="Delete pods by force, and replace them, once their node has been gone or not ready for so long: 90s, 5m, "
    "1h30m. Default: never.",
)
@JOBS.option(
    "--pytorch-init-container",
    type=click.Choice([each.value for each in MasterWait]),
    help="How workers of a PyTorchJob wait for its master: in the image of the next flag, in their own, or not at all.",
)
@JOBS.option("--pytorch-init-container-image", help="Image of the container that waits for a PyTorchJob's master.")
@JOBS.option("--pytorch-init-container-template-file", help="Replaces that container's template, if it exists.")
@JOBS.option("--pytorch-init-container-max-tries", type=int, help="How often that container looks for the master.")
@JOBS.option("--mpi-kubectl-delivery-image", help="Image of the container that brings kubectl to an MPIJob's launcher.")
@JOBS.option(
    "--cluster-domain",
    envvar="CUSTOM_CLUSTER_DOMAIN",
    show_envvar=True,
    help="What names of TFJob replicas end in, after `svc`.",
)
@API.option("--kubeconfig", help="Default: KUBECONFIG, the pod's service account, ~/.kube/config.")
@API.option("--kube-api-qps", type=float, help="Requests per second. Default: no limit.")
@API.option("--kube-api-burst", type=int, help="Requests at once above --kube-api-qps.")
@API.option("--leader-elect/--no-leader-elect", help="Act only while holding the lease.")
@API.option("--leader-election-id", help="Name of the lease.")
@API.option(
    "--operator-namespace", envvar="MY_POD_NAMESPACE", show_envvar=True, help="Namespace of the lease. Default: ours."
)
@SERVING.option("--metrics-bind-address", help="Where /metrics is served; 0 for nowhere.")
@SERVING.option("--health-probe-bind-address", help="Where /healthz and /readyz are served; 0 for nowhere.")
@LOGS.option("--zap-encoder", type=click.Choice([each.value for each in LogFormat]), help="Default: console on a TTY.")
@LOGS.option("--zap-log-level", help="debug, info, error, panic, or a number above 0 for debug.")
@OLD.option("--webhook-server-port", type=int, help="The CRDs check what v1's webhooks checked.")
@OLD.option("--webhook-service-name", help="There is no webhook.")
@OLD.option("--webhook-secret-name", help="There is no webhook.")
@OLD.option("--zap-devel/--no-zap-devel", default=None, help="--zap-encoder and --zap-log-level say the same.")
@OLD.option("--zap-stacktrace-level", help="Errors of the operator itself carry a stack trace.")
@OLD.option("--zap-time-encoding", help="Times are ISO 8601, in UTC.")
@click.pass_context
def run(ctx: click.Context, /, **flags: Any) -> None:
    """Run the operator against a cluster until SIGTERM."""
    settings = _settings(ctx, flags)
    from training_operator.serve import serve  # noqa: PLC0415 - --help and --version need none of it

    ctx.exit(serve(settings))


command.add_command(crds)
command.add_command(rbac)
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


def go_flags(arguments: Sequence[str]) -> list[str]:
    """Translate Go's flag syntax: `-flag` is `--flag`, `--switch=false` is `--no-switch`; flags alone mean `run`.

    Commands that v1 does not have are ignored.
    """
    if not arguments or not (arguments[0] == "run" or arguments[0].startswith("-")):
        return list(arguments)
    translated = [_go_flag(argument) for argument in arguments]
    if translated[0].startswith("--") and translated[0] not in ("--help", "--version"):
        translated.insert(0, "run")
    return translated


def _go_flag(argument: str) -> str:
    name, equals, value = argument.lstrip("-").partition("=")
    dashes = len(argument) - len(argument.lstrip("-"))
    if dashes not in (1, 2) or len(name) < 2 or not name[0].isalpha():
        return argument
    if equals and name in SWITCHES and value in TRUE | FALSE:
        return f"--{'' if value in TRUE else 'no-'}{name}"
    return f"--{name}{equals}{value}"


def main() -> None:
    """Entry point of `training-operator`, and of `/manager` in the image, which runs without any argument."""
    arguments = sys.argv[1:] or (["run"] if Path(sys.argv[0]).name == "manager" else [])
    command.main(args=go_flags(arguments), prog_name="training-operator")
