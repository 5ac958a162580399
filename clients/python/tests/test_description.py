"""The models have what the service says that it answers with."""

from __future__ import annotations

import dataclasses
import json
import urllib.request
from typing import Any, get_args

import memoir_client
import pytest
from memoir_service import Service

# Where the names differ.
NAMES = {
    "HandedOver": "Received",
    "Setting": "Config",
    "SettingVersion": "Version",
    "Tool": "ToolDefinition",
    "Transcripts": "ConversationStatus",
}
# Described where they stand, without a name.
INLINED = {"OriginalCounts"}
MODELS = [
    kind
    for kind in vars(memoir_client.models).values()
    if isinstance(kind, type)
    and dataclasses.is_dataclass(kind)
    and kind is not memoir_client.models.Shown
    and kind.__name__ not in INLINED
]


@pytest.fixture(scope="module")
def schemas(service: Service) -> dict[str, Any]:
    with urllib.request.urlopen(f"{service.url}/openapi.json", timeout=30) as answer:
        described: dict[str, Any] = json.load(answer)["components"]["schemas"]
        return described


def properties(schemas: dict[str, Any], schema: dict[str, Any]) -> dict[str, bool]:
    """The names of an object's fields, and whether each is always there."""
    if "$ref" in schema:
        return properties(schemas, schemas[schema["$ref"].rsplit("/", 1)[1]])
    found = {name: name in schema.get("required", []) for name in schema.get("properties", {})}
    for part in schema.get("allOf", []):
        found |= properties(schemas, part)
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_model_is_as_described(schemas: dict[str, Any], model: Any) -> None:
    name = NAMES.get(model.__name__, model.__name__)
    described = properties(schemas, schemas[name])
    described.pop("type", None)
    fields = {field.name: field for field in dataclasses.fields(model)}
    assert fields.keys() == described.keys()
    for field in fields.values():
        # What may be left out has a default here.
        has_default = (
            field.default is not dataclasses.MISSING
            or field.default_factory is not dataclasses.MISSING
        )
        assert described[field.name] or has_default, field.name


def test_a_recall_tells_of_meaning_as_described(schemas: dict[str, Any]) -> None:
    assert properties(schemas, schemas["MemoryPage"])["meaning"] is False
    assert set(get_args(memoir_client.models.Meaning)) == set(schemas["Meaning"]["enum"])
