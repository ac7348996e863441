"""A text that starts or is a training: its lines without comments, and its syntax tree where it is Python."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import PurePath
from typing import Final, NamedTuple

from training_api.yaml_text import json_value
from training_migration.lint.variables import V1_VARIABLES, set_by_v1


class Language(StrEnum):
    """How a text is read."""

    PYTHON = "python"
    NOTEBOOK = "notebook"
    SHELL = "shell"
    DOCKERFILE = "dockerfile"
    TEXT = "text"


class Line(NamedTuple):
    """One line, or several that are continued."""

    number: int
    text: str


LONGEST: Final = 4_000
"""Characters of a line; longer ones are looked through in pieces, so that no line takes long."""


def numbered(lines: Iterable[tuple[int, str]]) -> tuple[Line, ...]:
    """Lines with their numbers, without empty ones."""
    return tuple(
        Line(number, text[at : at + LONGEST])
        for number, text in lines
        if text.strip()
        for at in range(0, len(text), LONGEST)
    )


@dataclass(frozen=True)
class Script:
    """One text and what is known of the job that it belongs to."""

    path: str
    text: str
    language: Language
    kind: str | None = None
    """The kind of the job that it belongs to."""
    given: frozenset[str] = frozenset()
    """Variables that are known to be set, by a container for example."""
    launched: bool = False
    """Whether a launcher is known to start it that sets rank and world size."""
    _source: tuple[tuple[int, ...], str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_source", _source(self.text, self.language))

    @property
    def is_python(self) -> bool:
        """Whether there is Python in it."""
        return self.language in (Language.PYTHON, Language.NOTEBOOK)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree of Python, with lines of `code`; None where there is none."""
        if not self.is_python:
            return None
        try:
            return ast.parse(_without_magic(self._source[1]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two of what is nested too deep
            return None

    @property
    def code(self) -> str:
        """The code that the syntax tree is of."""
        return self._source[1]

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines without comments and, of Python, without texts that are not used."""
        numbers, code = self._source
        bare = _bare_python(code, self.tree) if self.is_python else _bare_shell(code)
        return numbered(zip(numbers, bare, strict=True))

    @cached_property
    def commands(self) -> tuple[Line, ...]:
        """The lines with those that a backslash continues as one."""
        joined: list[Line] = []
        open_line = False
        for line in self.lines:
            text = line.text.rstrip()
            continued = text.endswith("\\")
            text = text[:-1] if continued else text
            if open_line:
                joined[-1] = Line(joined[-1].number, f"{joined[-1].text} {text.strip()}")
            else:
                joined.append(Line(line.number, text))
            open_line = continued
        return tuple(joined)

    def number(self, line: int) -> int:
        """Where in the file a line of the syntax tree is."""
        numbers = self._source[0]
        return numbers[line - 1] if 0 < line <= len(numbers) else line

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of jobs that it may belong to: the given one, else by what it imports, else all."""
        if self.kind is not None:
            return frozenset({self.kind})
        hints = {kind for pattern, kind in _IMPORTS if any(pattern.search(line.text) for line in self.lines)}
        return frozenset(hints or V1_VARIABLES)

    @cached_property
    def names(self) -> frozenset[str]:
        """Variables that v1 set for such jobs, and that are not known to be set otherwise."""
        return frozenset().union(*map(set_by_v1, self.kinds)) - self.given


_IMPORTS: Final = tuple(
    (re.compile(rf"^\s*(?:import|from)\s+(?:{names})\b"), kind)
    for names, kind in (
        ("torch|lightning|pytorch_lightning|accelerate|transformers|deepspeed", "PyTorchJob"),
        ("tensorflow|keras", "TFJob"),
        ("xgboost|lightgbm", "XGBoostJob"),
        ("jax|flax", "JAXJob"),
        ("paddle", "PaddleJob"),
        ("horovod|mpi4py", "MPIJob"),
    )
)
_SUFFIXES: Final[Mapping[str, Language]] = {
    ".py": Language.PYTHON,
    ".ipynb": Language.NOTEBOOK,
    ".sh": Language.SHELL,
    ".bash": Language.SHELL,
}
_DOCKERFILE: Final = re.compile(r"(?i)(docker|container)file(\..*)?|.*\.(docker|container)file")
_MAGIC: Final = re.compile(r"^\s*[%!]")


def language_of(path: str, text: str) -> Language:
    """How to read a file, by its name or its first line."""
    name = PurePath(path).name
    if (known := _SUFFIXES.get(PurePath(name).suffix.lower())) is not None:
        return known
    if _DOCKERFILE.fullmatch(name):
        return Language.DOCKERFILE
    first = text.split("\n", 1)[0]
    if first.startswith("#!"):
        return Language.PYTHON if "python" in first else Language.SHELL
    return Language.TEXT


def _source(text: str, language: Language) -> tuple[tuple[int, ...], str]:
    """Number of each line in the file, and the code; of a notebook that of its cells."""
    if language is Language.NOTEBOOK:
        pairs = list(_of_notebook(text)) or [(1, "")]
        return tuple(number for number, _ in pairs), "\n".join(code for _, code in pairs)
    code = text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(range(1, code.count("\n") + 2)), code


def _of_notebook(text: str) -> Iterable[tuple[int, str]]:
    """The lines of the cells with code, each with the line of the file that holds it."""
    try:
        cells = json_value(text).get("cells") or ()
        sources = [cell.get("source", "") for cell in cells if cell.get("cell_type") == "code"]
    except (ValueError, AttributeError):
        return
    raw, at = text.splitlines(), 0
    for source in sources:
        for line in ("".join(source) if isinstance(source, list) else str(source)).split("\n"):
            quoted = json.dumps(line, ensure_ascii=False)[1:-1]
            at = next((number for number in range(at, len(raw)) if quoted and quoted in raw[number]), at)
            yield at + 1, line


def _without_magic(code: str) -> str:
    """Python of notebooks without lines for the shell, so that it can be read."""
    lines = code.split("\n")
    return "\n".join(re.sub(r"\S.*", "pass", line) if _MAGIC.match(line) else line for line in lines)


def _bare_python(code: str, tree: ast.Module | None) -> list[str]:
    """The lines without comments and without texts that stand alone."""
    lines = code.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(_without_magic(code)).readline))
    except (tokenize.TokenError, SyntaxError):
        return _bare_shell(code)
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for row in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[row] = ""
    return lines


_COMMENT: Final = re.compile(
    r"""^((?:[^'"#\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?<=[^\s;&|(])#)*?)(?:(?<![^\s;&|(])#.*)$"""
)


def _bare_shell(code: str) -> list[str]:
    """The lines without what follows a # at the beginning of a word outside of quotes."""
    return [found[1] if _may_comment(line) and (found := _COMMENT.match(line)) else line for line in code.split("\n")]


def _may_comment(line: str) -> bool:
    return "#" in line and len(line) <= LONGEST
