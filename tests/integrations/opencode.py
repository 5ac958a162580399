"""OpenCode, which speaks OpenAI's chat completions to a provider that is named by its address."""

import json

from scripted import Program, main, save_tool, server_sent


class OpenCode(Program):
    name = "opencode"
    # Its plugin hands nothing over.
    hands_over = False

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
        delta, reason = {"role": "assistant", "content": "Done."}, "stop"
        if save:
            name = save_tool(tool["function"]["name"] for tool in body["tools"])
            function = {"name": name, "arguments": json.dumps(save)}
            call = {"index": 0, "id": "call_1", "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        kind, text = server_sent([chunk(delta, None), chunk({}, reason)])
        return kind, text + "data: [DONE]\n\n"


def chunk(delta, reason):
    return {
        "id": "chat_1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


if __name__ == "__main__":
    main(OpenCode())
