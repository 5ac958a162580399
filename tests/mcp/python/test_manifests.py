"""What describes Memoir to other programs has the form that they publish or document."""

import json
import re
from pathlib import Path

import agent_plugins
import pytest
from jsonschema.validators import validator_for

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = "integrations/plugin"

FORMS = {
    "integrations/mcpb/manifest.json": "mcpb-manifest-0.3",
    "server.json": "mcp-server-2025-12-11",
    f"{PLUGIN}/plugin.json": "agent-plugin-1.0.0",
    f"{PLUGIN}/mcp.json": "agent-plugin-mcp-1.0.0",
    f"{PLUGIN}/.claude-plugin/plugin.json": "claude-code-plugin",
    f"{PLUGIN}/.mcp.json": "claude-code-mcp",
    f"{PLUGIN}/hooks/hooks.json": "claude-code-hooks",
    f"{PLUGIN}/.codex-plugin/plugin.json": "codex-plugin",
    f"{PLUGIN}/hooks/codex-hooks.json": "codex-hooks",
    f"{PLUGIN}/com.github.copilot/hooks/hooks.json": "copilot-hooks",
    ".claude-plugin/marketplace.json": "claude-code-marketplace",
}


def read(path: str) -> dict:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def validator(schema: str):
    form = read(f"tests/schemas/{schema}.schema.json")
    of_that_draft = validator_for(form)
    of_that_draft.check_schema(form)
    return of_that_draft(form)


@pytest.mark.parametrize("path", FORMS)
def test_every_file_has_its_form(path: str) -> None:
    problems = [
        f"{error.json_path}: {error.message}"
        for error in validator(FORMS[path]).iter_errors(read(path))
    ]
    assert problems == []


@pytest.mark.parametrize("path", FORMS)
def test_another_form_is_refused(path: str) -> None:
    form, file = validator(FORMS[path]), read(path)
    assert not form.is_valid(file | {"surprise": 1})
    for field in validator(FORMS[path]).schema.get("required", []):
        assert not form.is_valid({name: value for name, value in file.items() if name != field}), (
            field
        )
        assert not form.is_valid(file | {field: 7}), field


def test_nothing_is_without_a_form() -> None:
    there = {
        str(path.relative_to(ROOT))
        for folder in ("integrations/plugin", "integrations/mcpb", ".claude-plugin")
        for path in (ROOT / folder).rglob("*.json")
    }
    assert there <= FORMS.keys()
    schemas = {
        path.name.removesuffix(".schema.json") for path in (ROOT / "tests/schemas").glob("*.json")
    }
    assert schemas == set(FORMS.values())


def test_another_reader_of_agent_plugins_takes_the_folder_without_a_word() -> None:
    plugin = agent_plugins.Plugin(ROOT / PLUGIN)
    assert (plugin.manifest.name, plugin.manifest.issues, plugin.mcp.issues) == ("memoir", (), ())
    server = plugin.mcp.servers["memoir"]
    assert (server.command, server.args) == ("memoir", ("mcp",))
    assert [skill.name for skill in plugin.skills] == ["memory"]


def test_what_a_manifest_points_to_is_there() -> None:
    for path in (f"{PLUGIN}/.codex-plugin/plugin.json", f"{PLUGIN}/.claude-plugin/plugin.json"):
        for value in read(path).values():
            if isinstance(value, str) and re.match(r"\./", value):
                assert (ROOT / PLUGIN / value).exists(), f"{path}: {value}"
    source = read(".claude-plugin/marketplace.json")["plugins"][0]["source"]
    assert (ROOT / source / ".claude-plugin/plugin.json").is_file()
