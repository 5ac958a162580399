"""Gemini CLI, which speaks Gemini's own interface."""

import json

from scripted import Program, main, save_tool, server_sent


class Gemini(Program):
    name = "gemini"

    def environment(self, url):
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}

    def prepare(self, home, url):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        (home / ".gemini").mkdir()
        (home / ".gemini/settings.json").write_text(json.dumps(settings, indent=2))

    def command(self, url, prompt):
        return ["--yolo", "--skip-trust", "--model", "gemini-2.5-flash", "--prompt", prompt]

    def is_turn(self, body):
        return bool(declared(body))

    def answer(self, path, body, save):
        part = {"text": "Done."}
        if save:
            part = {"functionCall": {"name": save_tool(declared(body)), "args": save}}
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP",
            "index": 0,
        }
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = {"candidates": [candidate], "usageMetadata": usage}
        if "streamGenerateContent" in path:
            return server_sent([whole])
        return "application/json", json.dumps(whole)


def declared(body):
    return [
        function["name"]
        for tool in body.get("tools", [])
        for function in tool.get("functionDeclarations", [])
    ]


if __name__ == "__main__":
    main(Gemini())
