"""Objects as YAML."""

from __future__ import annotations

import yaml


class _Dumper(yaml.CSafeDumper):
    """YAML without anchors, which not every reader understands."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def as_yaml(content: object) -> str:
    """The document of one object, in the order of its keys."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=120, default_flow_style=None)
