"""Every value of a pod compared with that of its partner: what it is about, how bad it is, or why it says nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from training_api.quantity import amount
from training_api.registry import KINDS
from training_migration.diff.leaves import MAIN, Leaf, PodValues
from training_migration.diff.model import Aspect, Item, Likeness, NotCompared
from training_migration.findings import Severity
from training_migration.masking import LAST_APPLIED, MASK, is_credential, mask_text
from training_migration.v2.classes import default_pull_policy
from training_migration.v2.names import PORT


@dataclass(frozen=True, slots=True)
class Class:
    """Values of one kind."""

    pattern: str
    """Of their paths as `leaves` has them, from the beginning."""
    aspect: Aspect
    severity: Severity | None
    """Of a difference or a loss."""
    gained: Severity | None = Severity.INFO
    """Of a value that only v2 has."""


E, W, I = Severity.ERROR, Severity.WARNING, Severity.INFO  # noqa: E741  # a table's column
_CLASSES: Final = (
    Class(r"containers\[@\]\.(image|workingDir)$", Aspect.PROCESS, E, E),
    Class(r"containers\[@\]\.name$", Aspect.CONTAINERS, I),
    Class(r"containers\[@\]\.envFrom", Aspect.ENVIRONMENT, E, E),
    Class(r"containers\[@\]\.ports", Aspect.NETWORK, I),
    Class(r"containers\[@\]\.volume(Mounts|Devices)", Aspect.VOLUMES, E),
    Class(r"containers\[@\]\.resources\.\w+\.[^.]*[./][^.]*", Aspect.RESOURCES, E, E),
    Class(r"containers\[@\]\.resources", Aspect.RESOURCES, W, W),
    Class(r"containers\[[^]]*\]\.kind$", Aspect.CONTAINERS, I),
    Class(r"containers\[[^]]*\]\.env", Aspect.ENVIRONMENT, W),
    Class(r"containers\[", Aspect.CONTAINERS, W, W),
    Class(r"spec\.volumes", Aspect.VOLUMES, E),
    Class(r"spec\.(hostNetwork|dns\w+|hostAliases|enableServiceLinks|setHostnameAsFQDN)", Aspect.NETWORK, W, W),
    Class(
        r"spec\.(nodeSelector|nodeName|affinity|tolerations|schedulerName|priority\w*|topologySpreadConstraints"
        r"|runtimeClassName|schedulingGates|preemptionPolicy|securityContext|serviceAccount\w*|imagePullSecrets"
        r"|automountServiceAccountToken|host(PID|IPC|Users))",
        Aspect.SCHEDULING,
        W,
        W,
    ),
    Class(r"metadata\.labels\.training\.kubeflow\.org/", Aspect.METADATA, I),
    Class(r"metadata\.(labels|annotations)", Aspect.METADATA, W),
    Class(r"", Aspect.OTHER, W, W),
)
"""The first one that fits counts."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Values that have no item of their own, and why."""

    pattern: str
    """Of their paths as `leaves` has them, from the beginning."""
    reason: str


NOT_COMPARED: Final = (
    Skipped(r"(apiVersion|kind)$", "both sides make pods"),
    Skipped(r"metadata\.(name|generateName)$", "pods are paired by role and index; names of hosts are compared"),
    Skipped(r"metadata\.namespace$", "where a job runs is its owner's choice"),
    Skipped(r"metadata\.(uid|ownerReferences|finalizers|creationTimestamp)", "bookkeeping of the controllers"),
    Skipped(
        r"metadata\.(labels|annotations)\.(jobset\.sigs\.k8s\.io/|batch\.kubernetes\.io/|job-name$|controller-uid$)",
        "bookkeeping of JobSet and of Jobs",
    ),
    Skipped(r"status", "nothing runs yet"),
)
ELSEWHERE: Final = (
    Skipped(r"containers\[@\]\.env(\[.*)?$", "variables are compared by what they mean"),
    Skipped(r"containers\[@\]\.(command|args)", "compared as the command line that is run"),
    Skipped(r"spec\.(hostname|subdomain)$", "compared as names under which pods are reached"),
    Skipped(r"spec\.restartPolicy$", "compared by what happens when a container ends"),
    Skipped(r"containers\[[^]]*\]\.restartPolicy$", "part of the kind of the container"),
)
"""Values that have items of other kinds."""


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that has a reason."""

    pattern: str
    verdicts: frozenset[Likeness]
    reason: str
    kind: str = ""
    """Empty: of all kinds."""
    equivalent: bool = False
    """Whether it changes nothing."""
    severity: Severity | None = None
    """Where it is not that of the class."""


_ONE_SIDED: Final = frozenset({Likeness.LOST, Likeness.GAINED})
_CHANGED: Final = frozenset({Likeness.DIFFERENT})
_ANY: Final = _ONE_SIDED | _CHANGED
_MPI_MOUNTS: Final = r"/etc/mpi|/run/mpi|/opt/kube|/root/\.ssh|/home/[^]]*\.ssh"
_MPI_FILES: Final = rf"(spec\.volumes\[(mpi-|ssh-)|containers\[[^]]*\]\.volumeMounts\[({_MPI_MOUNTS}))"
_GIVEN_TO_ALL: Final = (
    "PYTHONUNBUFFERED|MASTER_|PET_|RANK|WORLD_SIZE|WORKER_|COORDINATOR_|NUM_PROCESSES|PROCESS_ID|PADDLE_|POD_IP_DUMMY"
)
KNOWN: Final = (
    Known(
        r"containers\[@\]\.image$",
        _ANY,
        "v2 needs an image with an SSH server; whether anything else changed in it cannot be seen",
        kind="MPIJob",
        severity=W,
    ),
    Known(r"containers\[@\]\.image$", _ANY, "another image may hold another program"),
    Known(r"containers\[@\]\.name$", _CHANGED, "who names the container, for logs or metrics, has to change that"),
    Known(
        rf"containers\[@\]\.ports\[({'|'.join(str(info.port) for info in KINDS.values())}|{PORT})/TCP\]$",
        _ONE_SIDED,
        "the port of v1's kind is not that of v2's policy; each side uses its own",
        equivalent=True,
    ),
    Known(
        r"containers\[[^]]*\]\.kind$",
        _CHANGED,
        "a native sidecar ends with the training, another one keeps the pod from it",
    ),
    Known(
        r"metadata\.annotations\.kubectl\.kubernetes\.io/default-container$",
        _CHANGED,
        "follows the new name of the container that trains",
        severity=I,
    ),
    Known(
        r"spec\.priorityClassName$", _ONE_SIDED, "v1 gives it to the gang scheduler, v2 to the pods as well", severity=I
    ),
    Known(r"metadata\.labels\.training\.kubeflow\.org/", _ANY, "who selects pods by this label finds none"),
    Known(
        r"containers\[[^]]*\]\.env\[JOB_COMPLETION_INDEX\]",
        _ONE_SIDED,
        "every Job gives its pods their index",
        equivalent=True,
    ),
    Known(
        r"containers\[[^]]*\]\.env\[(MASTER|PET_MASTER|COORDINATOR|WORKER)_PORT\]\.value$",
        _CHANGED,
        "each side uses its own port",
        equivalent=True,
    ),
    Known(
        rf"containers\[(?!{MAIN}\])[^]]*\]\.env\[({_GIVEN_TO_ALL})",
        frozenset({Likeness.LOST}),
        "v1 gives its variables to every container, v2 to the one that trains",
    ),
    Known(
        r"containers\[init-pytorch\]$",
        _ONE_SIDED,
        "names of v2 resolve before pods are ready, so no pod waits",
        kind="PyTorchJob",
        equivalent=True,
    ),
    Known(
        r"containers\[(kubectl-delivery|mpi-key)\]$",
        _ONE_SIDED,
        "v2 enters workers over SSH, without kubectl",
        kind="MPIJob",
        equivalent=True,
    ),
    Known(
        r"spec\.serviceAccountName$",
        _ONE_SIDED,
        "v2 enters workers over SSH, without any permission",
        kind="MPIJob",
        equivalent=True,
    ),
    Known(
        r"containers\[@\]\.readinessProbe",
        frozenset({Likeness.GAINED}),
        "lets the launcher wait for its hosts",
        kind="MPIJob",
        equivalent=True,
    ),
    Known(_MPI_FILES, _ANY, "how mpirun reaches its hosts", kind="MPIJob", equivalent=True),
    Known(
        r"metadata\.(annotations\.(scheduling\.k8s\.io/group-name|volcano\.sh/task-spec)"
        r"|labels\.scheduling\.x-k8s\.io/pod-group)$",
        _ANY,
        "each side names the gang in its own way",
        equivalent=True,
    ),
)
"""The first one that fits counts."""


def compared(kind: str, v1: PodValues, v2: PodValues, *, brief: bool = False) -> Iterator[Item]:
    """An item for each value of either pod; of entries of lists that only one side has one for the whole entry.

    With `brief` there are none for equal values, and the others have no texts.
    """
    done: set[str] = set()
    for path in dict.fromkeys((*v1.by_path, *v2.by_path)):
        if brief and _equal(v1.by_path.get(path), v2.by_path.get(path)):
            continue
        if _not_compared(path) or _compared_elsewhere(path) or _says_nothing(path, v1, v2):
            continue
        entry = _unmatched_entry(path, v1, v2)
        if entry is None:
            yield _item(kind, path, path, v1, v2, brief=brief)
        elif entry not in done:
            done.add(entry)
            yield _item(kind, entry, path, v1, v2, brief=brief)


def _says_nothing(path: str, v1: PodValues, v2: PodValues) -> bool:
    """Whether only one side has this value, and it is what Kubernetes takes by itself."""
    first, second = v1.by_path.get(path), v2.by_path.get(path)
    if first and second:
        return False
    leaf, side = (first, v1) if first else (v2.by_path[path], v2)
    if leaf.value in ({}, []) and not path.startswith("spec.volumes"):
        return True
    if path.endswith("].imagePullPolicy"):
        image = side.by_path.get(path.replace("imagePullPolicy", "image"))
        return image is not None and leaf.value == default_pull_policy(str(image.value))
    return leaf.value in _defaults(path)


@lru_cache(maxsize=16_384)
def _defaults(path: str) -> tuple[Any, ...]:
    return tuple(value for pattern, value in _DEFAULTS if re.fullmatch(pattern, path))


_DEFAULTS: Final[tuple[tuple[str, Any], ...]] = (
    (r"spec\.dnsPolicy", "ClusterFirst"),
    (r"spec\.schedulerName", "default-scheduler"),
    (r"spec\.terminationGracePeriodSeconds", 30),
    (r"spec\.enableServiceLinks", True),
    (r"containers\[[^]]*\]\.terminationMessagePath", "/dev/termination-log"),
    (r"containers\[[^]]*\]\.terminationMessagePolicy", "File"),
)
"""What Kubernetes takes where nothing is said."""


def skipped(v1: PodValues, v2: PodValues) -> Iterator[NotCompared]:
    """The values that are not compared at all, each with the reason."""
    for path in dict.fromkeys((*v1.by_path, *v2.by_path)):
        if (entry := _not_compared(path)) is not None:
            yield NotCompared(path, entry.reason)


@lru_cache(maxsize=16_384)
def _not_compared(path: str) -> Skipped | None:
    return next((each for each in NOT_COMPARED if re.match(each.pattern, path)), None)


@lru_cache(maxsize=16_384)
def _compared_elsewhere(path: str) -> bool:
    return any(re.match(each.pattern, path) for each in ELSEWHERE)


@lru_cache(maxsize=16_384)
def _class(path: str) -> Class:
    return next(each for each in _CLASSES if re.match(each.pattern, path))


def _unmatched_entry(path: str, v1: PodValues, v2: PodValues) -> str | None:
    """The outermost entry of a list around this value that the other side has nothing of."""
    first, second = v1.by_path.get(path), v2.by_path.get(path)
    if first and second:
        return None
    leaf, other = (first, v2) if first else (v2.by_path[path], v1)
    return next((entry for entry in leaf.entries if entry not in other.entries), None)


def _item(kind: str, entry: str, path: str, v1: PodValues, v2: PodValues, *, brief: bool) -> Item:
    """Of a value, or of an entry that only the side with this value has."""
    first, second = v1.by_path.get(path), v2.by_path.get(path)
    verdict = _verdict(path, v1, v2)
    family = _class(entry)
    texts = (_shown(entry, v1) if first and not brief else "", _shown(entry, v2) if second and not brief else "")
    leaf = first or v2.by_path[path]
    # The entry as the pod has it: as much shorter as the entry is than the path.
    label = leaf.path.removesuffix(path.removeprefix(entry)) if entry != path else leaf.path
    if verdict in (Likeness.SAME, Likeness.EQUIVALENT):
        reason = "the same pods under their names on each side" if verdict is Likeness.EQUIVALENT else ""
        return Item(family.aspect, label, *texts, verdict, reason)
    severity = family.gained if verdict is Likeness.GAINED else family.severity
    known = _known(kind, entry, verdict)
    if known is None:
        return Item(family.aspect, label, *texts, verdict, "", severity)
    if known.equivalent:
        return Item(family.aspect, label, *texts, Likeness.EQUIVALENT, known.reason)
    return Item(family.aspect, label, *texts, verdict, known.reason, known.severity or severity)


@lru_cache(maxsize=16_384)
def _known(kind: str, entry: str, verdict: Likeness) -> Known | None:
    """Why it is so, if that is known."""
    fitting = (each for each in KNOWN if each.kind in ("", kind) and verdict in each.verdicts)
    return next((each for each in fitting if re.match(each.pattern, entry)), None)


def _verdict(path: str, v1: PodValues, v2: PodValues) -> Likeness:
    if path not in v1.by_path:
        return Likeness.GAINED
    if path not in v2.by_path:
        return Likeness.LOST
    first, second = v1.by_path[path].value, v2.by_path[path].value
    if _alike(path, first, second):
        return Likeness.SAME
    texts = isinstance(first, str) and isinstance(second, str)
    return Likeness.EQUIVALENT if texts and v1.called(first) == v2.called(second) else Likeness.DIFFERENT


def _equal(v1: Leaf | None, v2: Leaf | None) -> bool:
    """Whether both are there and say the same; for Python `True` is 1."""
    return v1 is not None and v2 is not None and v1.value == v2.value and type(v1.value) is type(v2.value)


def _alike(path: str, v1: Any, v2: Any) -> bool:
    if v1 == v2:
        return isinstance(v1, bool) == isinstance(v2, bool)
    if re.search(r"\.((requests|limits|overhead)\.|sizeLimit$|divisor$)", path):
        try:
            return amount(str(v1)).value == amount(str(v2)).value
        except ValueError:
            return False
    return False


def _shown(entry: str, values: PodValues) -> str:
    """The value, or all of those of an entry."""
    if entry in values.by_path:
        return _safe(entry, _text(values.by_path[entry].value))
    below = {path: values.by_path[path].value for path in values.entries.get(entry, ())}
    return ", ".join(
        f"{path.removeprefix(entry).lstrip('.')}: {_safe(path, _text(value))}" for path, value in below.items()
    )


_VARIABLE: Final = re.compile(r"\.env\[([^]]*)\]")


def _safe(path: str, text: str) -> str:
    """The value as it may be shown."""
    variable = _VARIABLE.search(path)
    name = variable[1] if variable else path.rpartition(".")[2]
    is_value = not variable or path.endswith("value")
    return MASK if text and is_value and (LAST_APPLIED in path or is_credential(name)) else mask_text(text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
