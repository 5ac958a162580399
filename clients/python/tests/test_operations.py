"""Every operation of the service is reached by the methods that clients/operations.json names."""

from __future__ import annotations

import inspect
import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from memoir_client import Administrator, AgentMemory, AsyncAgentMemory, Problem
from memoir_service import Service

WANTED: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "operations.json").read_text()
)
CLASSES: dict[str, Any] = {"AgentMemory": AgentMemory, "Administrator": Administrator}
METHODS = [
    (operation, method)
    for operation, methods in WANTED.items()
    if isinstance(methods, dict)
    for method in methods
]
# What is taken apart, or named otherwise, in a method.
NAMES = {"q": "query", "session": "session_id", "include": "include_discarded"}


class Refusing:
    """Refuses every request, and keeps how it was asked."""

    def __init__(self) -> None:
        asked: list[tuple[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append((self.command, self.path.partition("?")[0]))
                self.send_response(400)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.asked = asked
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def refusing() -> Iterator[Refusing]:
    server = Refusing()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture(scope="module")
def operations(service: Service) -> dict[str, dict[str, Any]]:
    """By identifier: the method, the path and the parameters of the query."""
    with urllib.request.urlopen(f"{service.url}/openapi.json", timeout=30) as answer:
        paths = json.load(answer)["paths"]
    return {
        described["operationId"]: {
            "method": method.upper(),
            "path": path,
            "query": {
                each["name"] for each in described.get("parameters", []) if each["in"] == "query"
            },
        }
        for path, methods in paths.items()
        for method, described in methods.items()
        if "operationId" in described
    }


def test_every_operation_is_named_or_left_out_with_why(operations: dict[str, Any]) -> None:
    assert set(WANTED) == set(operations)
    assert all(methods for methods in WANTED.values())


def filled(method: Any) -> dict[str, Any]:
    """Something for each argument that a method must have."""
    some = {"int": 1, "bool": True, "Any": {}}
    return {
        each.name: some.get(str(each.annotation), [] if "Iterable" in str(each.annotation) else "x")
        for each in inspect.signature(method).parameters.values()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD and each.name != "self"
    }


@pytest.mark.parametrize(("operation", "method"), METHODS, ids=lambda value: str(value))
def test_a_method_reaches_its_operation(
    refusing: Refusing, operations: dict[str, Any], operation: str, method: str
) -> None:
    kind, name = method.split(".")
    arguments = filled(getattr(CLASSES[kind], name))
    if "to" in arguments:
        arguments["to"] = "2026-03-01T12:00:00Z"
    client = CLASSES[kind](refusing.url, *(["x", "x"] if kind == "AgentMemory" else ["x"]))
    if name == "sign_in":
        arguments["url"] = refusing.url
    refusing.asked.clear()
    with client, pytest.raises(Problem):
        answer = getattr(client, name)(**arguments)
        next(answer)
    described = operations[operation]
    pattern = re.sub(r"\{[a-z]+\}", "[^/]+", described["path"])
    ((verb, path),) = refusing.asked
    assert verb == described["method"] and re.fullmatch(pattern, path), (verb, path)


def test_every_parameter_of_a_query_is_taken(operations: dict[str, Any]) -> None:
    left = []
    for operation, methods in WANTED.items():
        taken = set()
        for method in methods if isinstance(methods, dict) else ():
            kind, name = method.split(".")
            taken |= set(inspect.signature(getattr(CLASSES[kind], name)).parameters)
        if isinstance(methods, dict):
            # An iterator goes from page to page by itself.
            query = operations[operation]["query"] - {"cursor", "limit"}
            # The account's own records are of no session and no memory.
            if operation == "list_account_records":
                query -= {"session", "memory"}
            left += [(operation, each) for each in query if NAMES.get(each, each) not in taken]
    assert left == []


def test_asyncio_has_what_an_agent_does() -> None:
    own = {method.split(".")[1] for _, method in METHODS if method.startswith("AgentMemory.")}
    assert {name for name in own if not hasattr(AsyncAgentMemory, name)} == set()
