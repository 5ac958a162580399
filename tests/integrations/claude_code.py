"""Claude Code, which speaks Anthropic's messages."""

import json

from scripted import Program, main, server_sent

# Its model is told of tools only once it looks for them: this is the name that it would find.
TOOL = "mcp__memoir__save_memory"


class ClaudeCode(Program):
    name = "claude-code"

    def environment(self, url):
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        }

    def command(self, url, prompt):
        return ["-p", "--allowedTools", TOOL, "--model", "claude-sonnet-4-5", prompt]

    def is_turn(self, body):
        return len(body.get("tools", [])) > 1

    def answer(self, path, body, save):
        if "count_tokens" in path:
            return "application/json", json.dumps({"input_tokens": 1})
        block = {"type": "text", "text": "Done."}
        if save:
            block = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": save}
        if not body.get("stream"):
            return "application/json", json.dumps(message([block], block["type"]))
        return server_sent(events(block), named=True)


def message(content, kind):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": "tool_use" if kind == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events(block):
    whole = message([], block["type"])
    yield {"type": "message_start", "message": {**whole, "stop_reason": None}}
    if block["type"] == "text":
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


if __name__ == "__main__":
    main(ClaudeCode())
