"""OpenCode, which speaks OpenAI's chat completions to a provider that is named by its address."""

import json

from scripted import Program, completion, main


class OpenCode(Program):
    name = "opencode"

    def environment(self, url):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def prepare(self, home, url):
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
            "models": {"scripted": {"name": "Scripted", "tool_call": True}},
        }
        settings = {
            "$schema": "https://opencode.ai/config.json",
            "provider": {"scripted": provider},
            "model": "scripted/scripted",
            "share": "disabled",
        }
        folder = home / ".config/opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(settings, indent=2))

    def command(self, url, prompt):
        return ["run", prompt]

    def is_turn(self, body):
        return bool(body.get("tools"))

    def answer(self, path, body, save):
        return completion(body, save)


if __name__ == "__main__":
    main(OpenCode())
