"""Programs of this machine that take the place of images, as `--image-program` names them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from training_api.documents import Unreadable, read_text
from training_local.errors import BadInput

ImagePrograms = Mapping[str, Sequence[str]]
"""Image -> command."""
_BESIDE: Final = "./"


def image_programs(options: Iterable[str]) -> ImagePrograms:
    """Return the command of each image; an option is `IMAGE=COMMAND`, or a file with one on each line.

    In a command, what begins with `./` is a path from the folder of the file, or from the present one. Raises
    `BadInput`.
    """
    found = (_of_file(Path(option)) if "=" not in option else [_pair(option, Path.cwd(), "")] for option in options)
    return dict(chain.from_iterable(found))


def _of_file(file: Path) -> Iterator[tuple[str, Sequence[str]]]:
    try:
        lines = read_text(file).splitlines()
    except Unreadable as error:
        raise BadInput(f"{file}: {str(error).rstrip('.')}") from None
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and not line.startswith("#"):
            yield _pair(line, file.resolve().parent, f"{file}:{number}: ")


def _pair(text: str, folder: Path, where: str) -> tuple[str, Sequence[str]]:
    image, _, command = map(str.strip, text.partition("="))
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"{where}{text}: {error}") from None
    if not image or not words:
        raise BadInput(f"{where}{text}: is not IMAGE=COMMAND")
    return image, [str(folder / word) if word.startswith(_BESIDE) else word for word in words]
