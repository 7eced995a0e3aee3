"""The schema of wireload's document, and what a document breaks of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA = json.loads(
    (Path(__file__).parent.parent / "schema" / "wireload-1.schema.json").read_text()
)


def violations(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    """The keywords of JSON Schema that our schema uses, and no others."""
    known = {
        "$schema",
        "$id",
        "$defs",
        "title",
        "description",
        "type",
        "const",
        "enum",
        "anyOf",
        "$ref",
        "required",
    }
    known |= {"properties", "additionalProperties", "items", "minimum", "maximum"}
    found = [
        f"{at}: the schema uses {key}, which this test does not know"
        for key in schema.keys() - known
    ]
    if "$ref" in schema:
        found += violations(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], at)
    if "anyOf" in schema and all(violations(value, option, at) for option in schema["anyOf"]):
        found.append(f"{at}: none of the alternatives: {value!r}")
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
        "integer": int,
        "number": (int, float),
    }
    if "type" in schema:
        wrong_bool = isinstance(value, bool) and schema["type"] != "boolean"
        if wrong_bool or not isinstance(value, types[schema["type"]]):
            return [*found, f"{at}: {value!r} is not of type {schema['type']}"]
    if ("const" in schema and value != schema["const"]) or (
        "enum" in schema and value not in schema["enum"]
    ):
        found.append(f"{at}: {value!r} is not allowed")
    if value is not None and (
        ("minimum" in schema and value < schema["minimum"])
        or ("maximum" in schema and value > schema["maximum"])
    ):
        found.append(f"{at}: {value!r} is out of range")
    if isinstance(value, dict) and schema.get("type") == "object":
        properties = schema.get("properties", {})
        found += [
            f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value
        ]
        for key, item in value.items():
            inner = properties.get(key, schema.get("additionalProperties", True))
            if inner is False:
                found.append(f"{at}: {key} is not known to the schema")
            elif isinstance(inner, dict):
                found += violations(item, inner, f"{at}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += violations(item, schema["items"], f"{at}[{i}]")
    return found
