"""Examples of three frameworks on a real node: what they need is mounted, and the checkpoint of rank 0 is late."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from e2e.migration.same_training import CASES
from e2e.migration.trained import read
from e2e.node.images import APPLETS, GROUP, NAME_SERVICES, Image

from training_api.registry import KINDS

Json = dict[str, Any]

TOOLS: Final = "localhost/tools:1"
"""A shell and what init containers and an SSH server need; the rest is mounted."""
SHARED: Final = "/shared"
"""What is written here stays when the pods have gone: the box has it as /mnt."""
LATE: Final = 6.0
"""Seconds that rank 0 is at work on its checkpoint when all others have ended."""
PATIENT: Final = {"RENDEZVOUS_SECONDS": "150"}
"""The machine may be busy."""
MAIN: Final = 'if __name__ == "__main__":\n'
CHECKPOINT: Final = f'''\
def main_and_checkpoint():
    """Train, and leave a file; that of rank 0 comes when all other ranks have ended."""
    import pathlib, socket, time
    main()
    if "mpi4py" in sys.modules:
        MPI.Finalize()
    own = int(next(os.environ[name] for name in ("RANK", "PROCESS_ID", "OMPI_COMM_WORLD_RANK") if name in os.environ))
    if own == 0:
        time.sleep({LATE})
    pathlib.Path("{SHARED}", socket.gethostname()).write_text(f"{{own}} {{time.time()}}")


'''


@dataclass(frozen=True, slots=True)
class Framework:
    """What pods of a framework run with."""

    python: str = "/usr/bin/python3"
    folders: tuple[str, ...] = ()
    """Folders of this machine that pods find where they are here."""
    variables: dict[str, str] = field(default_factory=dict)


def frameworks() -> dict[str, Framework]:
    """PyTorch and mpi4py of Debian, which has no JAX: that is the one of this environment."""
    spec = importlib.util.find_spec("jax")
    assert spec is not None and spec.origin is not None, "install JAX: make .venv/.installed-demo"
    packages = str(Path(spec.origin).parents[1])
    own = Framework(f"{sys.base_prefix}/bin/python3", (sys.base_prefix, packages), {"PYTHONPATH": packages})
    return {"pytorch": Framework(), "jax": own, "mpi": Framework()}


def job(framework: str) -> list[Json]:
    """The objects of an example as they run on a node, the job of v1 last."""
    v1, others = read(CASES[framework])
    for each in others:
        if each["kind"] == "ConfigMap":
            each["data"] = {name: _with_checkpoint(text) for name, text in each["data"].items()}
    made = v1.object
    for replica in made["spec"][KINDS[made["kind"]].replica_field].values():
        prepare(replica["template"]["spec"], frameworks()[framework])
    return [*others, made]


def _with_checkpoint(program: str) -> str:
    before, main = program.split(MAIN)
    assert "main()" in main, "the example is not what it was"
    return before + CHECKPOINT + MAIN + main.replace("main()", "main_and_checkpoint()")


def prepare(pod: Json, framework: Framework) -> None:
    """Let a pod run on what is mounted; a claim becomes a folder of the node."""
    folders = ("/usr", "/etc/alternatives", *framework.folders)
    mounts = [*((path, path) for path in folders), ("/mnt", SHARED)]
    own = [
        {"name": each["name"], "hostPath": {"path": "/mnt"}} if "persistentVolumeClaim" in each else each
        for each in pod.get("volumes", ())
    ]
    pod["volumes"] = [*own, *_volumes(path for path, _ in mounts)]
    [container] = pod["containers"]
    container["image"] = TOOLS
    container["volumeMounts"] = [
        *container.get("volumeMounts", ()),
        *({"name": f"host-{number}", "mountPath": path} for number, (_, path) in enumerate(mounts)),
    ]
    words = [word.replace("exec python ", f"exec {framework.python} ") for word in container.get("command", ())]
    if words:
        container["command"] = [framework.python if word == "python" else word for word in words]
    variables = [{"name": name, "value": value} for name, value in (PATIENT | framework.variables).items()]
    container["env"] = [*container.get("env", ()), *variables]


def _volumes(paths: Iterator[str]) -> Iterator[Json]:
    return ({"name": f"host-{number}", "hostPath": {"path": path}} for number, path in enumerate(paths))


def tools(busybox: Path = Path("/bin/busybox"), shell: Path = Path("/bin/bash-static")) -> Image:
    """The image of all containers; sshd wants a user of its own."""
    passwd = b"root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
    return Image(
        TOOLS,
        ["/bin/sh"],
        folders=["bin", "usr", "etc", "proc", "sys", "dev", "root", "run", "tmp"],
        links={each: f"usr/{each}" for each in ("sbin", "lib", "lib64")}
        | {f"bin/{each}": "busybox" for each in APPLETS}
        | {"bin/bash": "sh"},
        files={"etc/passwd": passwd, "etc/group": GROUP, "etc/nsswitch.conf": NAME_SERVICES},
        programs={"bin/busybox": busybox, "bin/sh": shell},
    )
