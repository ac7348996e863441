"""Where in a file a field of an object is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from training_api.yaml_text import nodes

STEP: Final = re.compile(r"[^.\[\]]+|\[([^\]]*)\]")


class Lines:
    """The objects of a text in YAML or JSON, with the lines of their fields."""

    def __init__(self, text: str) -> None:
        self._objects: list[yaml.Node] = []
        for root in nodes(text):
            self._objects += [root, *_items(root)]

    def of(self, begin: int, path: str) -> range:
        """The lines of a field of the object that begins here, or the first one of the nearest field around it."""
        later = [each for each in self._objects if each.start_mark.line + 1 >= begin]
        if not later:
            return range(begin, begin + 1)
        node = min(later, key=lambda each: each.start_mark.line)
        line = node.start_mark.line + 1
        last = line
        for step in STEP.finditer(path):
            found = below(node, step[1] if step[1] is not None else step[0])
            if found is None:
                return range(line, line + 1)
            line, node = found[0] + 1, found[1]
            # An alias stands elsewhere than what it means; text in a block ends where the next line begins.
            last = node.end_mark.line + (node.end_mark.column > 0)
        return range(line, max(line, last) + 1)


def _items(root: yaml.Node) -> Iterator[yaml.Node]:
    """The entries of a List."""
    found = below(root, "items")
    if found is not None and isinstance(found[1], yaml.SequenceNode):
        yield from found[1].value


def below(node: yaml.Node, step: str) -> tuple[int, yaml.Node] | None:
    """Line, from 0, and value of a field, or of an entry by its number or its name."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value.lower() == step.lower():
                return key.start_mark.line, value
    elif isinstance(node, yaml.SequenceNode):
        for at, each in enumerate(node.value):
            if step == str(at) or name_of(each) == step:
                return each.start_mark.line, each
    return None


def name_of(node: yaml.Node) -> str | None:
    """The text at the key `name`."""
    found = below(node, "name") if isinstance(node, yaml.MappingNode) else None
    return found[1].value if found is not None and isinstance(found[1], yaml.ScalarNode) else None
