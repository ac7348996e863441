"""An image of the operator made of what runs the tests: this Python, the packages that are needed, our own modules."""

from __future__ import annotations

import compileall
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from e2e.node.images import GROUP, PASSWD, Image
from e2e.support.paths import ROOT
from packaging.requirements import Requirement

OPERATOR: Final = "localhost/training-operator:1"
PACKAGE: Final = "training-operator"
SOURCES: Final = ("api/training_api", "controllers/training_controllers", "operator/training_operator")
MODULES: Final = "opt/modules"
"""Folder of everything that is imported, but for what Python brings along."""
UNUSED: Final = {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip"}
"""Folders of the standard library that the operator does without."""
MANAGER: Final = """\
#!{python}
import sys

sys.path.insert(0, "/{modules}")
from training_operator.cli import main

sys.exit(main())
"""


def operator_image() -> Image:
    """Started as `/manager`, without root; all files lie where they lie on this machine, except the modules."""
    python = Path(sys.executable).resolve()
    modules = dict(_own_modules())
    for name in required(PACKAGE):
        modules |= dict(files(name))
    standard = dict(standard_library())
    compiled = [file for file in (*modules.values(), *standard.values()) if file.suffix == ".so"]
    return Image(
        OPERATOR,
        ["/manager"],
        files={"etc/passwd": PASSWD, "etc/group": GROUP},
        programs={inside(python): python, **{inside(library): library for library in libraries(python, compiled)}},
        scripts={"manager": MANAGER.format(python=python, modules=MODULES).encode()},
        copies={**standard, **{f"{MODULES}/{path}": file for path, file in modules.items()}},
    )


def inside(path: Path) -> str:
    """The path of a file that lies in an image where it lies here."""
    return str(path).removeprefix("/")


def required(name: str) -> set[str]:
    """The packages that the installed package `name` needs at all times, and those that these need."""
    found: set[str] = set()
    left = [name]
    while left:
        for text in distribution(left.pop()).requires or ():
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and requirement.name.lower() not in found:
                found.add(requirement.name.lower())
                left.append(requirement.name)
    return found


def files(name: str) -> Iterator[tuple[str, Path]]:
    """The files of an installed package, but for its commands."""
    for path in distribution(name).files or ():
        if ".." not in path.parts:
            yield str(path), Path(str(path.locate()))


def _own_modules() -> Iterator[tuple[str, Path]]:
    """The modules of this folder, compiled, whatever is installed, with the description of the installed package."""
    byte_code = f".{sys.implementation.cache_tag}.pyc"
    for source in SOURCES:
        package = ROOT / source
        compileall.compile_dir(package, quiet=1)  # as the released image has them: a pod cannot keep what it compiles
        for file in package.rglob("*"):
            if file.is_file() and (file.parent.name != "__pycache__" or file.name.endswith(byte_code)):
                yield str(file.relative_to(package.parent)), file
    for path, file in files(PACKAGE):
        if ".dist-info/" in path:
            yield path, file


def standard_library() -> Iterator[tuple[str, Path]]:
    """The files of this Python's own modules, by their path in an image."""
    library = Path(sysconfig.get_path("stdlib"))
    for file in library.rglob("*"):
        unused = UNUSED.intersection(file.relative_to(library).parts) or file.name.startswith("_tkinter")
        if file.is_file() and not unused and file.suffix != ".a" and ".opt-" not in file.name:
            yield inside(file), file


def libraries(program: Path, compiled: Iterable[Path]) -> set[Path]:
    """The shared libraries of the machine that a program and compiled modules are linked with."""
    said = subprocess.run(["ldd", program, *compiled], capture_output=True, text=True, check=False).stdout
    found = {Path(path) for path in re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", said, re.MULTILINE)}
    return {path for path in found if "site-packages" not in path.parts}  # those come with their packages
