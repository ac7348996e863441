"""What scripts say of how processes are started and what they read from their environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from training_migration.convert.host_names import RANK_OF_HOST, V1_HOST
from training_migration.findings import Severity
from training_migration.lint.checks import Spot
from training_migration.lint.scripts.environ import Access, Manner, accesses, by_manner
from training_migration.lint.scripts.registry import SCRIPTS
from training_migration.lint.scripts.script import Language, Script
from training_migration.lint.variables import FIXED_PORT, POLICY_OF, V1_PORTS, WORLD

_SHELL_USE: Final = re.compile(r"\$(?:\{(?P<braced>\w+)(?P<rest>[^}]*)\}|(?P<bare>\w+)|\((?P<expanded>\w+)\))")
"""`$X`, `${X:-1}`, and `$(X)`, which Kubernetes replaces in command lines."""
_SHELL_TEST: Final = re.compile(r"\[\[?\s+!?\s*-[znv]\s+\"?\$?\{?(\w+)")
_SHELL_SETS: Final = re.compile(r"(?:^|[\s;&(])(?:export\s+|local\s+|declare\s+(?:-\w+\s+)*)?(\w+)=")
_LAUNCHERS: Final = re.compile(
    r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b|\baccelerate\s+launch\b|\bdeepspeed\s"
)
_FLAGS: Final = re.compile(
    r"--?(?:nnodes|node[-_]rank|master[-_](?:addr|port)|rdzv[-_]endpoint|num[-_]machines"
    r"|machine[-_]rank|main[-_]process[-_](?:ip|port)|nproc[-_]per[-_]node|num[-_]processes)[=\s]"
)
_OTHER_LAUNCHERS: Final = re.compile(
    r"(?:^|[\s;&|'\"/])(accelerate\s+launch|deepspeed(?=\s)|horovodrun|colossalai\s+run|ray\s+(?:start|job))"
    r"|^\s*(?:import|from)\s+(lightning|pytorch_lightning)\b"
)
_ALONE_WITHOUT_TF_CONFIG: Final = re.compile(r"\b(MultiWorkerMirroredStrategy|TFConfigClusterResolver)\(")
_RENDEZVOUS: Final = re.compile(r"\bPET_(?:RDZV_\w+|MAX_RESTARTS)\b")


def _in_shell(script: Script) -> bool:
    return script.language in (Language.SHELL, Language.DOCKERFILE, Language.TEXT)


def _python(script: Script) -> dict[Manner, list[Access]]:
    """What Python code asks for, of the names that v1 set."""
    if script.tree is None:
        return {manner: [] for manner in Manner}
    return {
        manner: [each for each in found if each.name in script.names]
        for manner, found in by_manner(accesses(script.tree)).items()
    }


def _own(script: Script) -> frozenset[str]:
    """Names that shell code sets itself."""
    return frozenset(name for line in script.lines for name in _SHELL_SETS.findall(line.text))


def _shell(script: Script) -> Iterator[Access]:
    """What shell code asks for, of the names that v1 set and it does not set itself."""
    names = script.names - _own(script)
    ends = _ends_without(script)
    for line in script.commands:
        for use in _SHELL_USE.finditer(line.text):
            name = use["braced"] or use["bare"] or use["expanded"]
            if name in script.names and re.match(r":?[-=]", use["rest"] or ""):
                yield Access(name, line.number, Manner.GOES_ON)
            elif name in names:
                yield Access(name, line.number, Manner.FAILS)
        for name in _SHELL_TEST.findall(line.text):
            if name in script.names and name not in ends:
                yield Access(name, line.number, Manner.GOES_ON)


def _ends_without(script: Script) -> frozenset[str]:
    """Variables without which the script ends: tested in an `if` that exits, or by `${X:?}`."""
    text = "\n".join(line.text for line in script.lines)
    blocks = re.findall(r"-z\s+\"?\$\{?(\w+)[^\n]{0,500}?\]\]?(.{0,2000}?)\bfi\b", text, re.DOTALL)
    short = re.findall(r"-[zn]\s+\"?\$\{?(\w+)[^\n]*?\]\]?\s*(?:&&|\|\|)([^\n]*)", text)
    ending = {name for name, body in (*blocks, *short) if re.search(r"\bexit\b|\breturn\s+[1-9]", body)}
    return frozenset(ending | set(re.findall(r"\$\{(\w+):?\?", text)))


def _by_line(found: Iterable[Access]) -> Iterator[tuple[int, str]]:
    """Line, and the names there as a list for users."""
    for line, group in groupby(sorted(set(found), key=lambda each: (each.line, each.name)), lambda each: each.line):
        yield line, ", ".join(dict.fromkeys(each.name for each in group))


def _asked(script: Script, manner: Manner) -> list[Access]:
    """What the script asks for in this manner, with lines of the file."""
    python = [Access(each.name, script.number(each.line), manner) for each in _python(script)[manner]]
    return [*python, *(by_manner(_shell(script))[manner] if _in_shell(script) else ())]


@SCRIPTS.rule("MIG102")
def continues_alone(script: Script) -> Iterator[Spot]:
    """A default or a test for a variable without which a process believes to be alone."""
    severity = Severity.INFO if script.launched else None
    for line, names in _by_line(each for each in _asked(script, Manner.GOES_ON) if each.name in WORLD):
        message = f"it continues without {names}: where v2 does not set it, every node trains alone."
        yield Spot(message, line=line, severity=severity)
    for each in script.lines if "TF_CONFIG" in script.names and script.is_python else ():
        if found := _ALONE_WITHOUT_TF_CONFIG.search(each.text):
            yield Spot(f"{found[1]} trains alone without TF_CONFIG, which v2 does not set.", line=each.number)


@SCRIPTS.rule("MIG103")
def launcher_flags(script: Script) -> Iterator[Spot]:
    """Flags of a launcher that are made of variables which v2 does not set."""
    for line, names in _flag_uses(script):
        yield Spot(f"flags of the launcher are made of {names}, which v2 does not set: they are empty.", line=line)


def _flag_uses(script: Script) -> Iterator[tuple[int, str]]:
    """Lines with such flags, and the variables in them, of a script that starts a launcher somewhere."""
    if not any(_LAUNCHERS.search(line.text) for line in script.commands):
        return
    names = script.names - _own(script)
    for line in script.commands:
        if _FLAGS.search(line.text):
            used = [use["braced"] or use["bare"] or use["expanded"] for use in _SHELL_USE.finditer(line.text)]
            if missing := [name for name in dict.fromkeys(used) if name in names]:
                yield line.number, ", ".join(missing)


@SCRIPTS.rule("MIG106")
def fixed_port(script: Script) -> Iterator[Spot]:
    """The number of v1's port, where it stands for a port."""
    ports = {V1_PORTS[kind]: kind for kind in sorted(script.kinds) if kind in V1_PORTS}
    for line in script.lines:
        for port, kind in sorted(ports.items()):
            if re.search(rf"(?<![\d.]){port}(?![\d.]\d|\d)", line.text) and _means_a_port(line.text, port):
                yield _port(port, kind, line.number)


def _port(port: int, kind: str, line: int) -> Spot:
    """What becomes of the port: a policy has its own, a runtime without a policy has what its template says."""
    if POLICY_OF.get(kind) in FIXED_PORT:
        return Spot(f"{port} is the port that v1 gave; v2's is 29500.", line=line)
    message = f"{port} is the port that v1 gave; in v2 it is what the runtime says."
    return Spot(message, line=line, severity=Severity.INFO)


def _means_a_port(text: str, port: int) -> bool:
    return re.search(r"port|addr|host|endpoint|listen|EXPOSE|_URI", text, re.IGNORECASE) is not None or (
        re.search(rf"[\w)}}\]]:{port}\b", text) is not None
    )


@SCRIPTS.rule("MIG107")
def host_name(script: Script) -> Iterator[Spot]:
    """Names of hosts as v1 made them, and ranks that are read from them."""
    for line in script.lines:
        if found := V1_HOST.search(line.text):
            part = f"-{found[1] or found[2]}"
            yield Spot(f"a host name with {part!r}: v2's hosts are called JOB-node-0-INDEX.JOB.", line=line.number)
        elif RANK_OF_HOST.search(line.text):
            yield Spot("it takes a part of the host name; v2's are called JOB-node-0-INDEX.", line=line.number)


@SCRIPTS.rule("MIG115")
def other_launcher(script: Script) -> Iterator[Spot]:
    """A launcher that reads variables of its own."""
    for line in script.commands:
        if found := _OTHER_LAUNCHERS.search(line.text):
            name = re.sub(r"\s+", " ", found[1] or found[2])
            yield Spot(f"{name} finds its nodes in its own way: check what it reads.", line=line.number)


@SCRIPTS.rule("MIG117")
def needs_a_variable(script: Script) -> Iterator[Spot]:
    """A variable that the script cannot do without, and that only v1 sets."""
    if script.launched:
        return
    of_flags = {number for number, _ in _flag_uses(script)}
    for line, names in _by_line(_asked(script, Manner.FAILS)):
        if line not in of_flags:
            yield Spot(f"it needs {names}, which v2 does not set.", line=line)


@SCRIPTS.rule("MIG204")
def rendezvous(script: Script) -> Iterator[Spot]:
    """Variables of torchrun's rendezvous."""
    for line in script.lines:
        if (found := _RENDEZVOUS.search(line.text)) and found[0] not in script.given:
            yield Spot(f"it uses {found[0]}, which v1 made of elasticPolicy and v2 does not set.", line=line.number)
