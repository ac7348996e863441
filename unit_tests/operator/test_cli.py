import re
from datetime import timedelta
from importlib.metadata import EntryPoint
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

import training_operator.serve
from training_api.crd.build import build
from training_api.registry import KINDS
from training_controllers.frameworks.plugins import kinds
from training_operator import __version__, cli, run_command
from training_operator.settings import LogFormat, LogLevel, Settings


@pytest.mark.parametrize("flag", ["--leader-elct", "-leader-elct"])
def test_an_unknown_flag_is_rejected_with_the_nearest_one(flag: str) -> None:
    result = invoke(flag)
    assert result.exit_code == 2
    (sentence,) = [line for line in result.output.splitlines() if line.startswith("Error:")]
    assert "'--leader-elct'" in sentence
    assert "--leader-elect" in sentence.partition("Did you mean")[2]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which the operator would have been started."""
    settings = list[Settings]()

    def serve(given: Settings) -> int:
        settings.append(given)
        return 0

    monkeypatch.setattr(training_operator.serve, "serve", serve)
    monkeypatch.delenv("KUBEFLOW_NAMESPACE", raising=False)
    monkeypatch.delenv("MY_POD_NAMESPACE", raising=False)
    return settings


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, cli.go_flags(arguments))


def settings_of(served: list[Settings], *arguments: str) -> Settings:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return served.pop()


@pytest.mark.shows("E-135")
def test_the_defaults_are_v1_s_except_as_decided(served: list[Settings]) -> None:
    settings = settings_of(served, "run")
    assert settings == Settings()
    assert (settings.metrics_bind_address, settings.health_probe_bind_address) == (":8080", ":8081")
    assert (settings.leader_elect, settings.leader_election_id) == (False, "1ca428e5.training-operator.kubeflow.org")
    assert settings.kube_api_qps is None
    assert settings.pytorch_init_container_image == "alpine:3.10"
    assert settings.pytorch_init_container_max_tries == 100
    assert settings.kinds == tuple(kinds())


@pytest.mark.shows("E-134")
@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--namespace=team"], "namespace", "team"),
        (["-namespace=team"], "namespace", "team"),
        (["--namespace", "team"], "namespace", "team"),
        (["-namespace", "team"], "namespace", "team"),
        (["--leader-elect"], "leader_elect", True),
        (["-leader-elect"], "leader_elect", True),
        (["--leader-elect=true"], "leader_elect", True),
        (["-force=true"], "force", True),
        (["-leader-elect=1"], "leader_elect", True),
        (["--leader-elect=false"], "leader_elect", False),
        (["--leader-elect", "--leader-elect=F"], "leader_elect", False),
        (["--controller-threads=7"], "controller_threads", 7),
        (["--kube-api-qps=20.5"], "kube_api_qps", 20.5),
        (["--kube-api-burst", "40"], "kube_api_burst", 40),
        (["--metrics-bind-address=0"], "metrics_bind_address", "0"),
        (["--health-probe-bind-address", "[::1]:9"], "health_probe_bind_address", "[::1]:9"),
        (["--enable-scheme=PyTorchJob", "--enable-scheme=jaxjob"], "enable_scheme", ("PyTorchJob", "JAXJob")),
        (["--enable-scheme=jaxjob", "--enable-scheme=JAXJOB"], "enable_scheme", ("JAXJob",)),
        (["--kubeconfig=/k"], "kubeconfig", "/k"),
        (["--zap-encoder=json"], "log_format", LogFormat.JSON),
        (["--zap-log-level=debug"], "log_level", LogLevel.DEBUG),
        (["--zap-log-level=3"], "log_level", LogLevel.DEBUG),
        (["--zap-log-level=0"], "log_level", LogLevel.INFO),
        (["--zap-log-level", "error"], "log_level", LogLevel.ERROR),
        (["-gang-scheduler-name=Volcano"], "gang_scheduler_name", "Volcano"),
        (["--pytorch-init-container-max-tries=5"], "pytorch_init_container_max_tries", 5),
        (["--pytorch-init-container=worker-image"], "pytorch_init_container", "worker-image"),
    ],
)
def test_flags_in_go_s_syntax(served: list[Settings], arguments: list[str], field: str, value: Any) -> None:
    assert getattr(settings_of(served, *arguments), field) == value
    assert getattr(settings_of(served, "run", *arguments), field) == value


def test_flags_of_v1_without_effect_are_taken_and_named(served: list[Settings]) -> None:
    given = [
        "--webhook-server-port=9443",
        "-webhook-service-name=training-operator",
        "--webhook-secret-name=x",
        "--zap-devel=false",
        "--zap-stacktrace-level=error",
        "--zap-time-encoding=iso8601",
    ]
    settings = settings_of(served, *given)
    assert sorted(settings.without_effect) == sorted(re.sub("^-+|=.*", "", flag).join(["--", ""]) for flag in given)
    assert settings_of(served, "--leader-elect").without_effect == ()


def test_the_environment_gives_namespaces(served: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEFLOW_NAMESPACE", "team")
    monkeypatch.setenv("MY_POD_NAMESPACE", "kubeflow-system")
    settings = settings_of(served, "run")
    assert (settings.namespace, settings.operator_namespace) == ("team", "kubeflow-system")
    assert settings_of(served, "--namespace=other").namespace == "other"
    monkeypatch.setenv("CUSTOM_CLUSTER_DOMAIN", "cluster.local")
    assert settings_of(served, "run").cluster_domain == "cluster.local"


BAD: dict[str, list[str]] = {
    "--enable-scheme": ["", "foojob", "tfjob,jaxjob", "all"],
    "--namespace": ["Upper", "two words", "a/b", "-a", "a" * 64],
    "--controller-threads": ["", "0", "-1", "1.5", "x", "9" * 20],
    "--max-replicas": ["", "0", "-1", "x", "150001"],
    "--replace-pods-on-lost-nodes-after": ["", "0", "0s", "5", "-5m", "m", "5 m", "1s1m", "1e3s", "9999999h", "soon"],
    "--pytorch-init-container": ["", "Image", "image,none"],
    "--pytorch-init-container-image": ["", "two words"],
    "--pytorch-init-container-max-tries": ["0", "-3", "x"],
    "--mpi-kubectl-delivery-image": ["", "two words"],
    "--cluster-domain": ["two words", ".local", "a..b", "under_score"],
    "--kube-api-qps": ["0", "-1", "nan", "inf", "x"],
    "--kube-api-burst": ["0", "-2", "x"],
    "--gang-scheduler-name": ["two words", "under_score", "a..b", "a" * 254],
    "--leader-elect": ["maybe", "", "2"],
    "--force": ["maybe"],
    "--leader-election-id": ["", "Upper", "two words", "a" * 254],
    "--operator-namespace": ["Upper", "a.b"],
    "--metrics-bind-address": ["", "8080", "localhost", ":99999", ":-1", "::1:80"],
    "--health-probe-bind-address": ["", ":x", "1.2.3.4"],
    "--zap-encoder": ["", "xml"],
    "--zap-log-level": ["", "loud", "-1"],
    "--webhook-server-port": ["x"],
    "--zap-devel": ["maybe"],
}
"""Values that each flag rejects."""
ANY_TEXT = {
    "--kubeconfig": "empty means the default; files that cannot be used are rejected when they are read",
    "--pytorch-init-container-template-file": "as in v1, a file that is not there leaves the built-in template",
    "--webhook-service-name": "without effect",
    "--webhook-secret-name": "without effect",
    "--zap-stacktrace-level": "without effect",
    "--zap-time-encoding": "without effect",
}
"""Flags that take any text, and why."""


def test_each_flag_has_bad_values_or_a_reason_to_have_none() -> None:
    flags = {option.opts[0] for option in run_command.run.params if isinstance(option, click.Option)} - {"--help"}
    assert flags == BAD.keys() | ANY_TEXT.keys()


def test_durations_are_written_as_in_go(served: list[Settings]) -> None:
    texts = {"90s": 90, "5m": 300, "1h30m": 5400, "1.5m": 90, "2h0m0.5s": 7200.5}
    read = {text: settings_of(served, f"--replace-pods-on-lost-nodes-after={text}") for text in texts}
    seconds = {text: s.replace_pods_on_lost_nodes_after for text, s in read.items()}
    assert seconds == {text: timedelta(seconds=number) for text, number in texts.items()}
    assert settings_of(served, "run").replace_pods_on_lost_nodes_after is None


def rejected(served: list[Settings], *arguments: str) -> str:
    """The error for invalid arguments: one sentence."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert served == []
    assert "Traceback" not in result.output
    [error] = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert result.output.endswith(f"{error}\n")
    return error


@pytest.mark.parametrize(("flag", "value"), [(flag, value) for flag, values in BAD.items() for value in values])
def test_a_bad_value_is_rejected_in_one_sentence_that_names_the_flag(
    served: list[Settings], flag: str, value: str
) -> None:
    assert flag in rejected(served, f"{flag}={value}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--nonsense"], "--nonsense"),
        (["-nonsense=1"], "--nonsense"),
        (["--controller-thread=3"], "Did you mean '--controller-threads'"),
        (["--namespace"], "--namespace"),
        (["--enable-scheme=foojob"], "scheme foojob is not supported yet; known are: pytorchjob, tfjob"),
        (["--metrics-bind-address=8080"], "--metrics-bind-address: '8080' must be HOST:PORT"),
        (["--namespace=Upper"], "--namespace: 'Upper' must be the name of a namespace"),
        (["--zap-log-level=loud"], "--zap-log-level: 'loud' must be one of debug, info, error, panic"),
        (["run", "surplus"], "surplus"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_bad_arguments_are_rejected(served: list[Settings], arguments: list[str], sentence: str) -> None:
    assert sentence in rejected(served, *arguments)


def test_a_bad_value_in_the_environment_names_the_flag(served: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEFLOW_NAMESPACE", "Upper")
    assert "--namespace: 'Upper'" in rejected(served, "run")


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--cluster-domain", "cluster.local."), ("--cluster-domain", ""), ("--leader-election-id", "a.b-c")],
)
def test_unusual_values_are_taken(served: list[Settings], flag: str, value: str) -> None:
    assert getattr(settings_of(served, f"{flag}={value}"), flag[2:].replace("-", "_")) == value


def test_the_version() -> None:
    result = invoke("--version")
    assert (result.exit_code, result.output) == (0, f"training-operator {__version__}\n")
    assert invoke("-version").output == result.output


def test_help_groups_the_flags_and_says_what_has_no_effect() -> None:
    text = invoke("run", "--help").output
    for heading in ("Jobs:", "Kubernetes API:", "Serving:", "Logs:", "Without effect"):
        assert heading in text
    assert text.index("Without effect") < text.index("--webhook-server-port")
    assert "--enable-scheme" in text


def test_every_flag_of_v1_exists() -> None:
    names = {name for each in run_command.run.params for name in each.opts}
    spec = """metrics-bind-address health-probe-bind-address leader-elect leader-election-id enable-scheme
    gang-scheduler-name namespace controller-threads kube-api-qps kube-api-burst pytorch-init-container-image
    pytorch-init-container-template-file pytorch-init-container-max-tries mpi-kubectl-delivery-image
    webhook-server-port webhook-service-name webhook-secret-name kubeconfig zap-devel zap-encoder zap-log-level
    zap-stacktrace-level zap-time-encoding"""
    assert {f"--{name}" for name in spec.split()} <= names


def test_the_image_s_entry_point_runs_without_arguments(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/manager"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert served == [Settings()]


def test_arguments_of_other_commands_are_kept() -> None:
    assert cli.go_flags(["local", "-abc", "--x=false"]) == ["local", "-abc", "--x=false"]
    assert cli.go_flags([]) == []
    assert cli.go_flags(["run", "-", "--", "-5", "-n"]) == ["run", "-", "--", "-5", "-n"]


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        EntryPoint("good", "training_operator.run_command:run", cli.COMMANDS),
        EntryPoint("missing", "no_such_package.cli:app", cli.COMMANDS),
    ]

    class Found(list[EntryPoint]):
        @property
        def names(self) -> set[str]:
            return {each.name for each in self}

    def entry_points(group: str, name: str = "") -> Found:
        assert group == cli.COMMANDS
        return Found(each for each in known if name in ("", each.name))

    monkeypatch.setattr(cli, "entry_points", entry_points)


@pytest.mark.usefixtures("entries")
def test_a_command_whose_packages_are_missing_says_so() -> None:
    result = invoke("missing", "--any", "thing")
    assert result.exit_code == 1
    assert result.output == ("Error: `missing` cannot be loaded: No module named 'no_such_package'.\n")
    assert "missing" in invoke("--help").output


@pytest.mark.usefixtures("entries")
def test_a_command_of_another_package_is_loaded_when_it_is_used() -> None:
    found = cli.command.get_command(click.Context(cli.command), "good")
    assert found is run_command.run
    assert cli.command.get_command(click.Context(cli.command), "other") is None


def test_the_definitions_of_an_operator_that_allows_more_replicas() -> None:
    written = invoke("crds", "--max-replicas", "20000")
    assert written.exit_code == 0
    assert list(yaml.load_all(written.output, yaml.CSafeLoader)) == [build(info, 20_000) for info in KINDS.values()]
    assert "150001 is not in the range 1<=x<=150000" in invoke("crds", "--max-replicas", "150001").output
