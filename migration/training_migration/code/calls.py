"""One call of v1's client as one of v2's, where that is certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import libcst as cst

from training_migration.code.equivalents import PARAMETERS, STATUSES, method_of
from training_migration.code.find import Place, Use

_IMPORT: Final = "kubeflow.trainer.TrainerClient"
_NAMESPACE: Final = "TrainerClient has one namespace: KubernetesBackendConfig(namespace=...)"
_TRAINER: Final[Mapping[str, str]] = {
    "train_func": "func",
    "parameters": "func_args",
    "base_image": "image",
    "packages_to_install": "packages_to_install",
    "num_workers": "num_nodes",
    "resources_per_worker": "resources_per_node",
    "env_vars": "env",
}
"""Parameters of `create_job` for a function, and of CustomTrainer."""
_OPTIONS: Final[Mapping[str, str]] = {"name": "Name", "labels": "Labels", "annotations": "Annotations"}
_IGNORED: Final = frozenset({"job_kind", "timeout", "wait_timeout"})


class NotCertain(Exception):
    """A call that a person has to look at; the text says what to do, if it is not the method's usual equivalent."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a call becomes."""

    node: cst.BaseExpression
    imports: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = field(default=())
    """What has to be looked at nevertheless."""


def rewritten(place: Place, call: cst.Call) -> Result:
    """The call for v2's SDK; raises NotCertain."""
    method = "TrainingClient" if place.use is Use.CLIENT else method_of(place.name)
    given = _arguments(method, call)
    match method:
        case "TrainingClient":
            return _client(given)
        case "get_job" | "delete_job":
            return Result(_method(call, method, [_named(given, "name")]), remarks=_remarks(given))
        case "list_jobs":
            return Result(_method(call, method, []), remarks=_remarks(given))
        case "wait_for_job_conditions":
            return _wait(call, given)
        case "is_job_running" | "is_job_succeeded" | "is_job_failed":
            return _state(call, given, method)
        case "create_job" if "train_func" in given:
            return _train(call, given)
        case "create_job":
            raise NotCertain("let `migrate convert` make the TrainJob, and create that as any object")
    raise NotCertain


def _arguments(method: str, call: cst.Call) -> dict[str, cst.Arg]:
    """The arguments by name; raises NotCertain where they cannot be read."""
    names = PARAMETERS.get(method, ())
    given: dict[str, cst.Arg] = {}
    for at, arg in enumerate(call.args):
        if arg.star or (arg.keyword is None and at >= len(names)):
            raise NotCertain
        given[arg.keyword.value if arg.keyword else names[at]] = arg
    return given


def _named(given: Mapping[str, cst.Arg], name: str, new: str = "") -> cst.Arg:
    """An argument with a keyword."""
    if name not in given:
        raise NotCertain
    return _arg(new or name, given[name].value)


def _arg(name: str, value: cst.BaseExpression) -> cst.Arg:
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, cst.Name(name), equal=plain)


def _method(call: cst.Call, name: str, arguments: list[cst.Arg]) -> cst.Call:
    """The same owner's method of another name, on as many lines as the call has."""
    assert isinstance(call.func, cst.Attribute)
    func = call.func.with_changes(attr=cst.Name(name))
    if not isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace) or not arguments:
        return cst.Call(func, arguments)
    first, last = call.args[0], call.args[-1]
    between = first.comma if len(call.args) > 1 else cst.Comma(whitespace_after=call.whitespace_before_args)
    kept = [each.with_changes(comma=between) for each in arguments[:-1]]
    kept.append(arguments[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg))
    return call.with_changes(func=func, args=kept)


def _remarks(given: Mapping[str, cst.Arg]) -> tuple[str, ...]:
    return (_NAMESPACE,) if "namespace" in given else ()


def _client(given: Mapping[str, cst.Arg]) -> Result:
    kept = [_named(given, name) for name in PARAMETERS["TrainingClient"] if name in given and name != "job_kind"]
    if not kept:
        return Result(cst.Call(cst.Name("TrainerClient")), frozenset({_IMPORT}))
    config = cst.Call(cst.Name("KubernetesBackendConfig"), kept)
    client = cst.Call(cst.Name("TrainerClient"), [_arg("backend_config", config)])
    return Result(client, frozenset({_IMPORT, "kubeflow.trainer.KubernetesBackendConfig"}))


def _wait(call: cst.Call, given: Mapping[str, cst.Arg]) -> Result:
    arguments = [_named(given, "name")]
    if "expected_conditions" in given:
        arguments.append(_arg("status", _statuses(given["expected_conditions"].value)))
    if "wait_timeout" in given:
        arguments.append(_named(given, "wait_timeout", "timeout"))
    if "polling_interval" in given:
        arguments.append(_named(given, "polling_interval"))
    remarks = _remarks(given)
    if "callback" in given:
        callbacks = cst.List([cst.Element(given["callback"].value)])
        arguments.append(_arg("callbacks", callbacks))
        remarks += ("the callback gets a TrainJob of the SDK, whose `status` is one word",)
    return Result(_method(call, "wait_for_job_status", arguments), remarks=remarks)


def _statuses(conditions: cst.BaseExpression) -> cst.Set:
    """The statuses of a set of conditions that is written out; raises NotCertain for another."""
    if isinstance(conditions, cst.Call) and len(conditions.args) == 1 and name_of(conditions.func) == "set":
        conditions = conditions.args[0].value
    if not isinstance(conditions, cst.Set | cst.List | cst.Tuple):
        raise NotCertain
    words = []
    for element in conditions.elements:
        value = element.value
        word = value.evaluated_value if isinstance(value, cst.SimpleString) else name_of(value)
        word = str(word).removeprefix("JOB_CONDITION_").capitalize()
        if word not in STATUSES:
            raise NotCertain
        words.append(cst.Element(cst.SimpleString(f'"{STATUSES[word]}"')))
    return cst.Set(words)


def name_of(node: cst.CSTNode) -> str:
    """The last part of a dotted name; empty for what is none."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _state(call: cst.Call, given: Mapping[str, cst.Arg], method: str) -> Result:
    word = STATUSES[method.removeprefix("is_job_").capitalize()]
    job = _method(call, "get_job", [_named(given, "name")])
    equal = cst.ComparisonTarget(cst.Equal(), cst.SimpleString(f'"{word}"'))
    comparison = cst.Comparison(
        cst.Attribute(job, cst.Name("status")), [equal], lpar=[cst.LeftParen()], rpar=[cst.RightParen()]
    )
    return Result(comparison, remarks=_remarks(given))


def _train(call: cst.Call, given: Mapping[str, cst.Arg]) -> Result:
    """A job of a function."""
    unknown = set(given) - set(_TRAINER) - set(_OPTIONS) - _IGNORED - {"namespace"}
    unknown |= {name for name in ("resources_per_worker", "env_vars") if name in given and not _is_plain(given[name])}
    if unknown or not _is_pytorch(given):
        raise NotCertain(f"{', '.join(sorted(unknown)) or 'job_kind'} has no parameter in `TrainerClient().train`")
    trainer = cst.Call(
        cst.Name("CustomTrainer"), [_named(given, name, new) for name, new in _TRAINER.items() if name in given]
    )
    arguments = [_arg("trainer", trainer)]
    imports = {"kubeflow.trainer.CustomTrainer"}
    options = []
    for name, option in _OPTIONS.items():
        if name in given:
            options.append(cst.Element(cst.Call(cst.Name(option), [_named(given, name)])))
            imports.add(f"kubeflow.trainer.options.{option}")
    if options:
        arguments.append(_arg("options", cst.List(options)))
    return Result(_method(call, "train", arguments), frozenset(imports), _remarks(given))


def _is_plain(arg: cst.Arg) -> bool:
    """Whether this may be a mapping, and is no model of Kubernetes' client."""
    return isinstance(arg.value, cst.Dict | cst.Name | cst.Attribute)


def _is_pytorch(given: Mapping[str, cst.Arg]) -> bool:
    """Whether the job is of the kind that v2's default runtime is for."""
    if "job_kind" not in given:
        return True
    value = given["job_kind"].value
    word = value.evaluated_value if isinstance(value, cst.SimpleString) else name_of(value)
    return word in ("PyTorchJob", "PYTORCHJOB_KIND")
