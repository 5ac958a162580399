"""Whole sessions of Claude Code with a script in the place of its model.

What was saved in one is in the next one's request. `MEMOIR_BIN` is the binary, `CLAUDE_BIN` the
program; both run in a home of their own.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEMOIR = os.environ["MEMOIR_BIN"]
CLAUDE = os.environ["CLAUDE_BIN"]
FACT = "Marta prefers linen thread."
SAVED = "Ines keeps bees behind the greenhouse."


class Model(BaseHTTPRequestHandler):
    """Answers each request with the next block of the script, and keeps the requests."""

    protocol_version = "HTTP/1.1"
    requests = []
    script = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            return self.answer("application/json", json.dumps({"input_tokens": 1}))
        # Questions beside the conversation, such as for a title, have no tools.
        is_turn = len(body.get("tools", [])) > 1
        if is_turn:
            Model.requests.append(body)
        block = (
            Model.script.pop(0) if is_turn and Model.script else {"type": "text", "text": "Done."}
        )
        if not body.get("stream"):
            return self.answer("application/json", json.dumps(message([block], block["type"])))
        self.answer("text/event-stream", "".join(events(block)))

    def answer(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer("application/json", "{}")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def message(content, kind):
    reason = "tool_use" if kind == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def events(block):
    whole = message([], block["type"])
    yield event({"type": "message_start", "message": {**whole, "stop_reason": None}})
    if block["type"] == "text":
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield event({"type": "content_block_start", "index": 0, "content_block": begun})
    yield event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield event({"type": "content_block_stop", "index": 0})
    yield event(
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 1},
        }
    )
    yield event({"type": "message_stop"})


def event(data):
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def run(home, *command, **more):
    env = {
        "HOME": home,
        "PATH": os.environ["PATH"],
        "TMPDIR": home,
        "ANTHROPIC_BASE_URL": more.pop("url", ""),
        "ANTHROPIC_API_KEY": "none",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    ran = subprocess.run(
        command,
        env=env,
        capture_output=True,
        text=True,
        timeout=180,
        stdin=subprocess.DEVNULL,
        **more,
    )
    assert ran.returncode == 0, f"{command}: {ran.stdout}\n{ran.stderr}"
    return ran.stdout


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as home:
        project = pathlib.Path(home, "shop")
        project.mkdir()
        claude = [
            CLAUDE,
            "-p",
            "--allowedTools",
            "mcp__memoir__save_memory",
            "--model",
            "claude-sonnet-4-5",
        ]
        run(home, MEMOIR, "setup", "claude-code", "--yes")
        run(home, MEMOIR, "remember", "assistant", FACT)

        Model.script = [
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "mcp__memoir__save_memory",
                "input": {"content": SAVED, "kind": "core"},
            }
        ]
        run(home, *claude, "Which thread does Marta prefer?", url=url, cwd=project)
        first = json.dumps(Model.requests[0])
        assert FACT in first, "the context is in the first request"
        texts = run(home, MEMOIR, "context", "assistant")
        assert SAVED in texts, f"the model's tool has saved it: {texts}"

        Model.requests.clear()
        run(home, *claude, "What does Ines keep?", url=url, cwd=project)
        assert SAVED in json.dumps(Model.requests[0]), (
            "what one session saved is in the next one's request"
        )

        log = pathlib.Path(home, ".local/state/memoir/hook.log")
        for _ in range(200):
            if log.read_text().count("handed over") >= 2:
                break
            time.sleep(0.05)
        told = log.read_text()
        assert "handed over" in told and "cannot" not in told, told
        run(home, MEMOIR, "setup", "claude-code", "--remove", "--yes")
        left = pathlib.Path(home, ".claude.json").read_text()
        assert "memoir" not in left.replace(str(home), ""), "nothing of Memoir is left"
        settings = pathlib.Path(home, ".claude/settings.json")
        assert not settings.exists() or "memoir" not in settings.read_text()
    version = run("/tmp", CLAUDE, "--version").split()[0]
    print(
        f"claude-code | {version} | tools, context at the start, conversations handed over | passed"
    )


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"claude-code | failed: {problem}")
