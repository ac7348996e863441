"""Programs of this machine that take the place of images, as `--image-program` names them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from training_api.documents import Unreadable, read_text
from training_api.yaml_text import parts
from training_local.errors import BadInput

ImagePrograms = Mapping[str, Sequence[str]]
"""Image -> command."""
_BESIDE: Final = "./"


def image_programs(options: Iterable[str]) -> ImagePrograms:
    """Return the command of each image; an option is `IMAGE=COMMAND`, or a YAML file of such pairs.

    In a command, what begins with `./` is a path from the folder of the file, or from the present one. Raises
    `BadInput`.
    """
    programs: dict[str, Sequence[str]] = {}
    for option in options:
        image, equals, command = option.partition("=")
        if not equals:
            programs.update(_of_file(Path(option)))
        elif image and command:
            programs[image] = _words(command, Path.cwd(), option)
        else:
            raise BadInput(f"{option}: is neither IMAGE=COMMAND nor a file")
    return programs


def _of_file(file: Path) -> Iterator[tuple[str, Sequence[str]]]:
    try:
        text = read_text(file)
    except Unreadable as error:
        raise BadInput(f"{file}: {str(error).rstrip('.')}") from None
    for part in parts(text):
        if part.error:
            raise BadInput(f"{file}, line {part.line}: {part.error.rstrip('.')}")
        if not isinstance(part.value, dict):
            raise BadInput(f"{file}, line {part.line}: must have the form IMAGE: COMMAND")
        for image, command in part.value.items():
            where = f"{file}: the command of {image}"
            if not isinstance(command, str) or not command.strip():
                raise BadInput(f"{where} must be a string, written as in a shell")
            yield image, _words(command, file.absolute().parent, where)


def _words(command: str, folder: Path, where: str) -> Sequence[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(f"{where}: {error}") from None
    return [str(folder / word) if word.startswith(_BESIDE) else word for word in words]
