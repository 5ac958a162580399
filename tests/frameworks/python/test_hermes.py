"""Hermes' own agent with Memoir as its memory provider, and a script in the place of its model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from memoir_client import AgentMemory
from memoir_service import Service

REMEMBERED = "Marta prefers linen thread."
PLUGIN = "from memoir_client.hermes import MemoirMemoryProvider, register  # noqa: F401\n"
# One turn, and what waits is written before the end.
TALK = """
import json, sys
from run_agent import AIAgent
agent = AIAgent(base_url=sys.argv[1], api_key="none", provider="custom", model="scripted",
                quiet_mode=True, max_iterations=3, skip_context_files=True,
                enabled_toolsets=["memory"], session_id="42")
answer = agent.chat("Which thread?")
agent._memory_manager.on_memory_write("add", "memory", "Ilse binds.")
recalled = agent._memory_manager.handle_tool_call("memoir_recall", {"query": "linen"})
refused = agent._memory_manager.handle_tool_call("memoir_remember", {"content": " "})
agent._memory_manager.flush_pending(timeout=30)
agent._memory_manager.shutdown_all()
print(json.dumps([answer, json.loads(recalled), json.loads(refused)]))
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def asked() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a model that says one thing, and what it was asked."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            # It also asks what kind of server it has before it.
            if "messages" in body:
                requests.append(body)
            about = {"id": "1", "created": 1, "model": "scripted"}
            message = {"role": "assistant", "content": "Linen."}
            streams = body.get("stream", False)
            part = "delta" if streams else "message"
            choice = {"index": 0, part: message, "finish_reason": "stop"}
            kind = "chat.completion.chunk" if streams else "chat.completion"
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            told = json.dumps({**about, "object": kind, "choices": [choice], "usage": usage})
            answer = f"data: {told}\n\ndata: [DONE]\n\n" if streams else told
            self.send_response(200)
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", requests
    server.shutdown()
    server.server_close()


def talk(home: Path, model: str, environment: dict[str, str]) -> Any:
    """What one turn of Hermes came to."""
    plugin = home / "plugins/memoir"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(PLUGIN)
    (home / "config.yaml").write_text("memory:\n  provider: memoir\n")
    done = subprocess.run(
        [sys.executable, "-c", TALK, model],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HERMES_HOME": str(home),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def system(request: dict[str, Any]) -> str:
    return str([each["content"] for each in request["messages"] if each["role"] == "system"])


def test_hermes_sends_the_memory_and_hands_over(
    service: Service, asked: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    token = service.agent("wren")
    memory = AgentMemory(service.url, "wren", token)
    memory.remember(REMEMBERED)
    model, requests = asked
    environment = {"MEMOIR_URL": service.url, "MEMOIR_AGENT": "wren", "MEMOIR_TOKEN": token}
    answer, recalled, refused = talk(tmp_path, model, environment)
    assert answer == "Linen."
    assert REMEMBERED in system(requests[0])
    assert [each["content"] for each in recalled["memories"]] == [REMEMBERED]
    assert "content" in refused["error"]
    assert memory.transcripts().pending == 2
    assert memory.recall("Ilse")[0].source == "hermes:memory"


def test_hermes_model_is_told_where_the_memory_cannot_be_reached(
    asked: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    model, requests = asked
    environment = {
        "MEMOIR_URL": "http://127.0.0.1:1",
        "MEMOIR_AGENT": "wren",
        "MEMOIR_TOKEN": "memoir_x",
    }
    answer, recalled, _ = talk(tmp_path, model, environment)
    assert answer == "Linen." and "error" in recalled
    assert "cannot be reached" in system(requests[0])
