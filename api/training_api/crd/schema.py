"""From the models to the structural schemas that CRDs demand; the models' docstrings become the descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from training_api.crd.upstream import QUANTITY, Schema, upstream_schemas
from training_api.models.common import ApiModel

KEPT = ("type", "format", "maximum", "enum", "required")


@cache
def structural(model: type[ApiModel]) -> Schema:
    """The schema of a model: everything inline, absent instead of null, without defaults. Not to be changed."""
    schema = model.model_json_schema()
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    schema = _without_indirections(schema, definitions)
    described = {"description": " ".join(schema["description"].split())} if "description" in schema else {}
    if "upstream" in schema:
        return described | upstream_schemas()[schema["upstream"]]
    if schema.get("format") == "quantity":
        return described | QUANTITY
    result = described | {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        result["properties"] = {name: _structural(value, definitions) for name, value in schema["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), Mapping):
            result[inner] = _structural(schema[inner], definitions)
    return result


def _without_indirections(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references and drop the alternative null; what stands next to them wins over what they lead to."""
    alternatives = [s for s in schema.get("anyOf", ()) if s.get("type") != "null"]
    if len(alternatives) == 1:
        target = alternatives[0]
    elif "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
    else:
        return schema
    beside = {key: value for key, value in schema.items() if key not in ("anyOf", "$ref")}
    return {**_without_indirections(target, definitions), **beside}
