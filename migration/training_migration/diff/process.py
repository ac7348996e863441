"""What is run in the container that trains, and with which variables next to those by which pods find each other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from training_api.registry import KINDS
from training_migration.convert.launchers import Launcher
from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.readers import MPI_NAMES, V2_OWN, carriers
from training_migration.diff.torchrun import flags
from training_migration.diff.wiring import Reader, View
from training_migration.findings import Severity
from training_migration.masking import MASK, is_credential, mask_text, masked
from training_migration.v2.names import INDEX_VARIABLE, PORT

_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*")
_PORT_FLAG: Final = re.compile(r"--?(?:master|main[-_]process)[-_]port=")
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*")
UNBUFFERED: Final = "PYTHONUNBUFFERED"
WORKER_PORT: Final = "WORKER_PORT"
"""Of XGBoostJobs; where the hosts in WORKER_ADDRS listen."""
_QUIET: Final[Mapping[str, str]] = {
    INDEX_VARIABLE: "every Job gives its pods their index",
    "POD_IP_DUMMY": "only a part of PADDLE_MASTER",
    "NVIDIA_VISIBLE_DEVICES": "keeps GPUs from a launcher that has none",
    "NVIDIA_DRIVER_CAPABILITIES": "keeps GPUs from a launcher that has none",
}


def command_items(
    kind: str, v1: View, v2: View, launchers: tuple[Launcher, Launcher], *, brief: bool
) -> Iterator[Item]:
    """The command line once shells that only set variables are done, with each side's names of hosts.

    With `brief` there are no texts to be shown.
    """
    words = tuple(v1.words), tuple(v2.words)
    given = [bool(each.side.container(each.place).get("command")) for each in (v1, v2)]
    texts = ("", "") if brief else (_line(words[0]), _line(words[1]))
    if v1.side.words(v1.place) == v2.side.words(v2.place):
        verdict, reason, severity = Likeness.SAME, "", None
    elif words[0] == words[1] and given[0] == given[1]:
        verdict, reason, severity = Likeness.EQUIVALENT, "a shell in front of it only sets variables", None
    elif kind == "MPIJob" and v1.place.role == "worker":
        verdict, severity = Likeness.EQUIVALENT, None
        reason = "v1's workers sleep until they are entered, v2's run an SSH server"
    elif given[0] == given[1] and _canonical(v1) == _canonical(v2):
        verdict, reason, severity = Likeness.EQUIVALENT, "the same pods under their names on each side", None
    elif given[0] == given[1] and _with_own_numbers(v1, _port(kind)) == _with_own_numbers(v2, PORT):
        verdict, reason, severity = Likeness.EQUIVALENT, "the same pods, with the port and index of each side", None
    elif launchers[0] != launchers[1] and _script(words[0]) == _script(words[1]) != ():
        verdict, severity = Likeness.EQUIVALENT, None
        reason = f"the same script, started by {launchers[0]} on v1 and by {launchers[1]} on v2"
    else:
        verdict, reason, severity = Likeness.DIFFERENT, "another program, or other arguments", Severity.ERROR
    yield Item(Aspect.PROCESS, "command line", *texts, verdict, reason, severity)


def _line(words: Sequence[str]) -> str:
    return " ".join(str(word) for word in masked(list(words))) or "the image's"


def _canonical(view: View) -> tuple[str, ...]:
    """The words with pods in place of their names."""
    return tuple(canonical_hosts(view, word) for word in view.words)


def _port(kind: str) -> int:
    return KINDS[kind].port if kind in KINDS else PORT


def _with_own_numbers(view: View, port: int) -> tuple[str, ...]:
    """The same with a place for the port of the side, and with the number that a shell makes of the index."""
    found: list[str] = []
    for word in view.words:
        text = canonical_hosts(view, word)
        if _PORT_FLAG.fullmatch(f"{found[-1]}=" if found else "") and text == str(port):
            text = "<port>"
        if index := view.environment.get(INDEX_VARIABLE, ""):
            text = re.sub(rf"\$\{{?{INDEX_VARIABLE}\b\}}?", index, text)
        if (flag := _PORT_FLAG.match(text)) and text[flag.end() :] == str(port):
            text = f"{flag[0]}<port>"
        found.append(re.sub(rf"(<pod \d+>):{port}\b", r"\1:<port>", text))
    return tuple(found)


def canonical_hosts(view: View, text: str) -> str:
    """The text with each name of a pod of this side replaced by what the pod is called on both."""

    def replaced(match: re.Match[str]) -> str:
        place = view.side.place_of(match[0])
        return match[0] if place is None else f"<pod {view.numbers.get(place)}>"

    return _HOST.sub(replaced, text)


def _script(words: Sequence[str]) -> tuple[str, ...]:
    """Script and arguments behind torchrun or python; empty where there is neither."""
    given, script = flags(words)
    if script:
        return ("-m", *script) if given.get("module") or given.get("m") else script
    if words and _PYTHON.fullmatch(PurePosixPath(words[0]).name):
        return tuple(word for word in words[1:] if word != "-u")
    return ()


def variable_items(
    kind: str, v1: View, v2: View, readers: Sequence[Reader], explained: Collection[str], *, brief: bool
) -> Iterator[Item]:
    """Variables next to those in `explained`, which are compared by what they mean to the readers.

    With `brief` there are no texts to be shown, and none of those that are equal.
    """
    for name in dict.fromkeys((*v1.environment, *v2.environment)):
        if name in explained:
            continue
        verdict = _verdict(name, v1, v2)
        if brief and verdict is Likeness.SAME:
            continue
        reason, severity = _explained(kind, name, verdict, readers)
        known = reason and severity is None and verdict is not Likeness.SAME
        first, second = ("" if brief else _shown(name, each.environment.get(name, "")) for each in (v1, v2))
        yield Item(Aspect.ENVIRONMENT, name, first, second, Likeness.EQUIVALENT if known else verdict, reason, severity)


def _shown(name: str, value: str) -> str:
    return MASK if value and is_credential(name) else mask_text(value)


def _verdict(name: str, v1: View, v2: View) -> Likeness:
    first, second = v1.environment.get(name), v2.environment.get(name)
    if second is None:
        return Likeness.LOST
    if first is None:
        return Likeness.GAINED
    if first == second:
        return Likeness.SAME
    if canonical_hosts(v1, first) == canonical_hosts(v2, second) or (_is_name(v1, first) and _is_name(v2, second)):
        return Likeness.EQUIVALENT
    return Likeness.DIFFERENT


def _is_name(view: View, value: str) -> bool:
    """Whether this is the pod's own name, for logs and the like; as an address it would not be resolved."""
    return value == str(view.side.pods[view.place].pod["metadata"]["name"])


def _explained(kind: str, name: str, verdict: Likeness, readers: Sequence[Reader]) -> tuple[str, Severity | None]:
    """A reason, and how bad it is; a reason that is not bad at all makes any difference an equivalence."""
    if verdict is Likeness.EQUIVALENT:
        return "the same pods under their names on each side", None
    if verdict is Likeness.DIFFERENT and name == WORKER_PORT:
        return "each side uses its own port", None
    if reason := _harmless(kind, name, readers):
        return ("", None) if verdict is Likeness.SAME else (reason, None)
    if name == UNBUFFERED and verdict is Likeness.LOST:
        return "what Python prints appears late in the logs", Severity.INFO
    if verdict is Likeness.GAINED:
        return "", Severity.INFO
    return ("", None) if verdict is Likeness.SAME else ("the program may read it", Severity.ERROR)


def _harmless(kind: str, name: str, readers: Sequence[Reader]) -> str:
    """Why it does not matter what this variable says; empty where it may."""
    if name in _QUIET:
        return _QUIET[name]
    if name in V2_OWN.get(kind, ()):
        return f"v2's own name; {readers[0].name} does not read it"
    if any(name in reader.settings for reader in readers):
        return ""
    if name in carriers(kind) or (kind == "MPIJob" and name.startswith(MPI_NAMES)):
        return f"{readers[0].name} does not need it"
    return ""
