"""The CEL environment of Kubernetes: the language, its extensions, and functions of Kubernetes' own.

Google's evaluator compiles an expression once and runs it natively; it limits the depth of expressions and how often
they iterate.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.cel import Activation
from cel_expr_python.ext.ext_bindings import ExtBindings
from cel_expr_python.ext.ext_optional import ExtOptional
from cel_expr_python.ext.ext_strings import ExtStrings

from training_api import quantity
from training_local.apiserver.custom.schema_validation import compiled

__all__ = ["Activation", "CompileError", "EvaluationError", "Program", "activation", "program"]

_T = cel.Type
_WITH_OPTIONAL_OLD: Final = "cel.bind(oldSelf, oldKnown ? optional.of(oldSelf) : optional.none(), %s\n)"
_UNDECLARED: Final = "undeclared reference to"
_ERRORS: Final = (("Key not found in map : ", "no such key: "), ("No matching overloads found", "no such overload"))
"""What the library says and what the real server says, as it begins."""


class CompileError(Exception):
    """An expression that cannot be compiled; the text says why."""


class EvaluationError(Exception):
    """An expression that has no value for these variables; the text says why."""


class Program:
    """A compiled expression."""

    def __init__(self, text: str) -> None:
        try:
            self._expression = _compile(text)
        except RuntimeError as error:
            raise CompileError(_without_code(str(error))) from None

    def evaluate(self, variables: Activation) -> Any:
        """Return the value; raises `EvaluationError`."""
        try:
            value = self._expression.eval(variables)
        except RuntimeError as error:
            raise EvaluationError(str(error)) from None
        if value.type() == _T.ERROR:
            raise EvaluationError(_said(str(value.value())))
        return value.plain_value()


@lru_cache(maxsize=2048)
def program(text: str, *, optional_old: bool = False) -> Program:
    """Compile an expression, with `oldSelf` as the old value or as an optional one; raises `CompileError`."""
    return Program(_WITH_OPTIONAL_OLD % text if optional_old else text)


def activation(now: Any, before: Any) -> Activation:
    """Convert the variables of expressions once for all; `before` is None where there is no old value."""
    variables = {"self": now, "oldKnown": before is not None}
    made: Activation = _environment().Activation(variables if before is None else {**variables, "oldSelf": before})
    return made


def _compile(text: str) -> cel.Expression:
    try:
        return _environment().compile(text)
    except RuntimeError as error:
        if _UNDECLARED not in str(error):
            raise
    # A function of Kubernetes that is not known here: what does not call it can still be evaluated.
    return _environment().compile(text, disable_check=True)


def _without_code(error: str) -> str:
    return error.partition(": ")[2].removesuffix(" [INVALID_ARGUMENT]")


def _said(error: str) -> str:
    text = _without_code(error).partition("\n")[0]
    for ours, theirs in _ERRORS:
        if text.startswith(ours):
            return theirs + text.removeprefix(ours).strip('"') if theirs.endswith(" ") else theirs
    return text


def _is_quantity(text: str) -> bool:
    return _parses(quantity.parse, text)


def _is_ip(text: str) -> bool:
    return _parses(ipaddress.ip_address, text)


def _is_cidr(text: str) -> bool:
    return "/" in text and _parses(ipaddress.ip_network, text)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _is_sorted(items: list[Any]) -> bool:
    return all(one <= other for one, other in pairwise(items))


def _index_of(items: list[Any], item: Any) -> int:
    return items.index(item) if item in items else -1


@cache
def _environment() -> cel.Env:
    functions = [cel.FunctionDecl(name, list(overloads)) for name, overloads in _functions()]
    return cel.NewEnv(
        variables={"self": _T.DYN, "oldSelf": _T.DYN, "oldKnown": _T.BOOL},
        # Ours last: a later extension may add overloads to a function of an earlier one.
        extensions=[ExtStrings(), ExtOptional(), ExtBindings(), cel.CelExtension("kubernetes", functions)],
    )


def _functions() -> Iterator[tuple[str, Iterator[cel.Overload]]]:
    """Functions of Kubernetes beyond the language and its extensions."""
    for name, global_function in (("isQuantity", _is_quantity), ("isIP", _is_ip), ("isCIDR", _is_cidr)):
        yield name, iter([cel.Overload(name, _T.BOOL, [_T.STRING], False, global_function)])
    yield "find", iter([cel.Overload("find", _T.STRING, [_T.STRING, _T.STRING], True, _find)])
    texts = _T.List(_T.STRING)
    all_found = ([_T.STRING, _T.STRING], [_T.STRING, _T.STRING, _T.INT])
    yield "findAll", (cel.Overload(f"findAll{len(each)}", texts, each, True, _find_all) for each in all_found)
    yield "isSorted", iter([cel.Overload("isSorted", _T.BOOL, [_T.LIST], True, _is_sorted)])
    # The library calls no function of its user with an argument of any type, so each type has its own.
    of_items = (_T.STRING, _T.INT, _T.DOUBLE, _T.BOOL, _T.MAP)
    yield "indexOf", (cel.Overload(f"indexOf{t.name()}", _T.INT, [_T.LIST, t], True, _index_of) for t in of_items)
