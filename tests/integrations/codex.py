"""Whole sessions of Codex CLI with a script in the place of its model.

What was saved in one is in the next one's request. `MEMOIR_BIN` is the binary, `CODEX_BIN` the
program; both run in a home of their own. Codex asks a person once to trust the hooks that it finds;
here nobody is there to be asked, and it is told to trust them.
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
CODEX = os.environ["CODEX_BIN"]
FACT = "Marta prefers linen thread."
SAVED = "Ines keeps bees behind the greenhouse."


class Model(BaseHTTPRequestHandler):
    """Answers each request with the next item of the script, and keeps the requests."""

    protocol_version = "HTTP/1.1"
    requests = []
    script = []

    def do_POST(self):
        Model.requests.append(self.rfile.read(int(self.headers["content-length"])).decode())
        item = Model.script.pop(0) if Model.script else said("Done.")
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self.answer("text/event-stream", "".join(lines))

    def do_GET(self):
        self.answer("application/json", '{"models": []}')

    def answer(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def said(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}


def run(home, *command, **more):
    env = {"HOME": home, "PATH": os.environ["PATH"], "TMPDIR": home, "SCRIPTED_KEY": "none"}
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
    url = f"http://127.0.0.1:{server.server_port}/v1"
    provider = (
        f'{{name="scripted", base_url="{url}", wire_api="responses", env_key="SCRIPTED_KEY"}}'
    )
    with tempfile.TemporaryDirectory() as home:
        project = pathlib.Path(home, "shop")
        project.mkdir()
        codex = [
            CODEX,
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "-c",
            'model_provider="scripted"',
            "-c",
            f"model_providers.scripted={provider}",
            "-c",
            'model="scripted"',
        ]
        run(home, MEMOIR, "setup", "codex", "--yes")
        run(home, MEMOIR, "remember", "assistant", FACT)

        Model.script = [
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "namespace": "mcp__memoir",
                "name": "save_memory",
                "arguments": json.dumps({"content": SAVED, "kind": "core"}),
            }
        ]
        run(home, *codex, "Which thread does Marta prefer?", cwd=project)
        assert FACT in Model.requests[0], "the context is in the first request"
        texts = run(home, MEMOIR, "context", "assistant")
        assert SAVED in texts, f"the model's tool has saved it: {Model.requests[-1][-3000:]}"

        Model.requests.clear()
        run(home, *codex, "What does Ines keep?", cwd=project)
        assert SAVED in Model.requests[0], "what one session saved is in the next one's request"

        log = pathlib.Path(home, ".local/state/memoir/hook.log")
        for _ in range(200):
            if log.read_text().count("handed over 2 messages") >= 2:
                break
            time.sleep(0.05)
        told = log.read_text()
        assert told.count("handed over 2 messages") == 2 and "cannot" not in told, told
        run(home, MEMOIR, "setup", "codex", "--remove", "--yes")
        hooks = pathlib.Path(home, ".codex/hooks.json")
        assert not hooks.exists() or "memoir" not in hooks.read_text()
    version = run("/tmp", CODEX, "--version").split()[-1]
    print(f"codex | {version} | tools, context at the start, conversations handed over | passed")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"codex | failed: {problem}")
