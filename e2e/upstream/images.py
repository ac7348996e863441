"""Images under the names that upstream's tests use: packages of Debian and PyPI, and a small program that trains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from e2e.harness.environment import environment
from e2e.node.images import GROUP, NAME_SERVICES, PASSWD, PATH, Image
from e2e.node.operator_image import files, inside, libraries, required, standard_library
from e2e.training.examples import Example

DEBIAN: Final = Path("/usr/lib/python3/dist-packages")
STANDARD_LIBRARY: Final = Path("/usr/lib/python3.11")
TORCH: Final = (
    "torch",
    "torchgen",
    "functorch",
    "numpy",
    "typing_extensions.py",
    "torch-*.egg-info",
    "mpmath",
    "sympy",
)
"""What `import torch` needs of Debian's packages."""
ELASTIC: Final = "torch/distributed/elastic/multiprocessing/api.py"
WITHOUT_ZERO, WITH_ZERO = "for s in Std:", "for s in Std.__members__.values():"
"""torchrun of Debian's torch 1.13 fails under Python 3.11, whose flags do not list the one that is 0."""
HELLO: Final = b"#!/bin/sh\necho Hello from this image\n"
TRAIN: Final = "train.py"
NONE: Final[Mapping[str, str]] = {}
PROGRAMS: Final = Path(__file__).parent / "programs"
FOLDERS: Final = ("usr", "etc", "proc", "sys", "dev", "root", "tmp")
APPLETS: Final = ("cat", "cp", "cut", "env", "ls", "mktemp", "rm", "seq", "sleep")
LINKS: Final = {f"bin/{applet}": "busybox" for applet in APPLETS} | {"bin/sh": "bash"}
ETC: Final = {"etc/passwd": PASSWD, "etc/group": GROUP, "etc/nsswitch.conf": NAME_SERVICES}
SHELL: Final = {"bin/busybox": Path("/bin/busybox"), "bin/bash": Path("/bin/bash-static")}
"""Linked with nothing."""

Build = Callable[[Path], Iterator[Image]]


def program_of(file: str) -> bytes:
    """The training program of an example."""
    [script] = (each["data"][TRAIN] for each in Example(file).others if each["kind"] == "ConfigMap")
    return str(script).encode()


def pytorch(environments: Path) -> Iterator[Image]:
    """Debian's torch; one image trains by itself, the other one is for functions, which torchrun starts."""
    for name, entrypoint in (
        ("docker.io/kubeflow/pytorch-dist-mnist:latest", ("python3", f"/{TRAIN}")),
        ("docker.io/pytorch/pytorch:2.1.2-cuda11.8-cudnn8-runtime", ()),
    ):
        yield debian(name, entrypoint, {TRAIN: program_of("pytorch/pytorchjob.yaml")})
    yield Image(
        "docker.io/hello-world:latest",
        ["/hello"],
        links={"bin/sh": "busybox"},
        programs={"bin/busybox": Path("/bin/busybox")},
        scripts={"hello": HELLO},
    )


def debian(name: str, entrypoint: tuple[str, ...], programs: Mapping[str, bytes]) -> Image:
    """An image of Debian's Python and torch, with programs by their path."""
    copies = {inside(file): file for file in _debian_files()}
    python = Path("/usr/bin/python3").resolve()
    compiled = [file for file in copies.values() if ".so" in file.suffixes]
    elastic = inside(DEBIAN / ELASTIC)
    text = copies.pop(elastic).read_text()
    assert WITHOUT_ZERO in text, "torchrun is not what it was"
    return Image(
        name,
        ["python3"],
        entrypoint=entrypoint,
        folders=FOLDERS,
        links=LINKS | {"usr/bin/python3": python.name},
        files={
            **ETC,
            **programs,
            elastic: text.replace(WITHOUT_ZERO, WITH_ZERO).encode(),
        },
        programs={**SHELL, inside(python): python, **{inside(each): each for each in libraries(python, compiled)}},
        scripts={"usr/bin/torchrun": Path("/usr/bin/torchrun").read_bytes()},
        copies=copies,
    )


def _debian_files() -> Iterator[Path]:
    for path in (STANDARD_LIBRARY, *(found for name in TORCH for found in DEBIAN.glob(name))):
        for file in (path,) if path.is_file() else path.rglob("*"):
            if file.is_file() and "test" not in file.parts and "__pycache__" not in file.parts:
                yield file


def jax(environments: Path) -> Iterator[Image]:
    """JAX of this environment, and the program of the example."""
    packages = (file for name in required("jax") | {"jax"} for _, file in files(name))
    name = "docker.io/kubeflow/jaxjob-dist-spmd-mnist:latest"
    yield pypi(name, Path(sys.prefix), packages, {TRAIN: program_of("jax/jaxjob.yaml")})


def xgboost(environments: Path) -> Iterator[Image]:
    """The XGBoost of `make train`, and the program of the example."""
    prefix = environments / "xgboost"
    name = "docker.io/kubeflow/xgboost-dist-iris:latest"
    yield pypi(name, prefix, prefix.rglob("*"), {TRAIN: program_of("xgboost/xgboostjob.yaml")})


def tensorflow(environments: Path) -> Iterator[Image]:
    """The TensorFlow of `make train`, and a program with the options of upstream's."""
    prefix = environments / "tensorflow"
    program = {"var/tf_mnist/mnist_with_summaries.py": (PROGRAMS / "mnist_with_summaries.py").read_bytes()}
    yield pypi("gcr.io/kubeflow-ci/tf-mnist-with-summaries:1.0", prefix, prefix.rglob("*"), program)


def mpi(environments: Path) -> Iterator[Image]:
    """Open MPI and mpi4py of `make train` in the place of Horovod, and the program of the example for one rank."""
    prefix = environments / "mpi"
    program = program_of("mpi/mpijob.yaml").replace(b"mpi-linear-worker", b"mpijob-pytorch-ci-test-worker")
    variables = {"OPAL_PREFIX": str(prefix), "LD_LIBRARY_PATH": str(prefix / "lib"), "WORLD_SIZE": "1"}
    place = "horovod/examples/pytorch/pytorch_mnist.py"
    yield pypi("docker.io/horovod/horovod:0.28.1", prefix, prefix.rglob("*"), {place: program}, variables)


def paddle(environments: Path) -> Iterator[Image]:
    """Paddle of an environment of its own; its launcher brings the program that the test names."""
    prefix = environment("upstream-paddle", Path(__file__).with_name("paddle.txt")).parent
    yield pypi("docker.io/paddlepaddle/paddle:2.4.0rc0-cpu", prefix, prefix.rglob("*"), {})


def pypi(
    name: str,
    prefix: Path,
    packages: Iterable[Path],
    programs: Mapping[str, bytes],
    variables: Mapping[str, str] = NONE,
) -> Image:
    """An image of this Python and what lies in a virtual environment; it runs `TRAIN` if there is one."""
    python = Path(sys.executable).resolve()
    own = {inside(file): file for file in packages if file.is_file() and file.parent != prefix / "bin"}
    tools = {inside(file): file for file in (prefix / "bin").iterdir() if not file.name.startswith("python")}
    copies = {**dict(standard_library()), **own, **tools, inside(prefix / "pyvenv.cfg"): prefix / "pyvenv.cfg"}
    compiled = [file for file in copies.values() if ".so" in file.suffixes]
    linked = {inside(each): each for each in libraries(python, compiled) if inside(each) not in copies}
    return Image(
        name,
        ["python"],
        path=f"{prefix}/bin:{PATH}",
        folders=FOLDERS,
        links=LINKS | {inside(prefix / "bin" / "python"): str(python)},
        files={**ETC, **programs},
        programs={**SHELL, inside(python): python, **linked},
        copies=copies,
        entrypoint=["python", f"/{TRAIN}"] if TRAIN in programs else (),
        variables=variables,
    )


BUILDS: Final[Mapping[str, Build]] = {
    "pytorchjob": pytorch, "jaxjob": jax, "xgboostjob": xgboost, "tfjob": tensorflow, "mpijob": mpi,
    "paddlejob": paddle,
}  # fmt: skip
"""What makes the images of each kind, of the folder of the frameworks' environments."""
