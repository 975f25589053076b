"""Validates JSON with the jsonschema package against docs/schema, whose files refer to each other; nothing is loaded
from the network."""

import json
import pathlib

from program import need

need("jsonschema")
import jsonschema  # noqa: E402
import referencing  # noqa: E402

SCHEMAS = pathlib.Path(__file__).resolve().parents[3] / "docs/schema"
REGISTRY = referencing.Registry().with_resources(
    (file.name, referencing.Resource.from_contents(json.loads(file.read_text()))) for file in SCHEMAS.glob("*.json"))


def validate(value, name):
    """Raises jsonschema.ValidationError unless the value fits the schema, "iobench-read.json", or a part of it,
    "iobench-read.json#/properties/result"."""
    jsonschema.Draft202012Validator({"$ref": name}, registry=REGISTRY).validate(value)
