"""What describes Memoir to other programs has the form that they publish."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

ROOT = Path(__file__).resolve().parents[3]


def read(path: str) -> dict:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


SCHEMA = Draft7Validator(read("tests/schemas/mcpb-manifest-0.3.schema.json"))


def test_the_manifest_of_the_bundle_has_its_form() -> None:
    manifest = read("integrations/mcpb/manifest.json")
    problems = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(manifest)]
    assert problems == []


@pytest.mark.parametrize("change", [{"surprise": 1}, {"manifest_version": "9"}, {"server": {}}])
def test_another_form_is_refused(change: dict) -> None:
    manifest = read("integrations/mcpb/manifest.json") | change
    assert not SCHEMA.is_valid(manifest)
