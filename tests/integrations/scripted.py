"""The story of every program in which agents live: whole sessions, with a script for a model.

A program is a file beside this one: how its model's answers are written, how it is called, and its
settings. Here is what is asked of each: what `memoir setup` writes is enough for the memory to be
in the request that the program sends, the model's tool saves, and what one session saved is in the
request of the next. `MEMOIR_BIN` is the binary and `PROGRAM_BIN` the program; both run in a home of
their own.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEMOIR = os.environ["MEMOIR_BIN"]
BINARY = os.environ["PROGRAM_BIN"]
FACT = "Marta prefers linen thread."
# In no context, for it has left the prompt long ago: only a prompt that it bears on brings it back.
FADED = "The blue ledger lies in the third drawer."
SAVED = "Ines keeps bees behind the greenhouse."
# What is asked of a program, as its row says it.
FOUND = "tools, context at the start, memories at a prompt, conversations handed over"


class Program:
    """What is different in each program."""

    # As `memoir setup` calls it.
    name = ""

    def environment(self, url):
        """What it is told by variables."""
        return {}

    def prepare(self, home, url):
        """Writes the settings that somebody who uses it already has."""

    def command(self, url, prompt):
        """The words behind its name that run one session and end."""
        raise NotImplementedError

    def is_turn(self, body):
        """Whether it is the conversation, and no question beside it, such as for a title."""
        return True

    def answer(self, path, body, save):
        """The type and the text of the model's answer: a call of `save_memory` with these
        arguments, or a word where there are none."""
        raise NotImplementedError


def server_sent(events, *, named=False):
    """The answer of a model that streams."""
    lines = (
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    )
    return "text/event-stream", "".join(lines)


def save_tool(names):
    """As the program calls Memoir's tool; some have one of their own of that name."""
    return next(name for name in names if "memoir" in name and name.endswith("save_memory"))


def completion(body, save):
    """The answer of OpenAI's chat completions, which several programs speak."""
    said, reason = {"role": "assistant", "content": "Done."}, "stop"
    if save:
        name = save_tool(tool["function"]["name"] for tool in body["tools"])
        function = {"name": name, "arguments": json.dumps(save)}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        said, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    about = {"id": "chat_1", "created": 0, "model": "scripted"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}

    def whole(kind, **choice):
        choices = [{"index": 0, **choice}]
        return {**about, "object": kind, "choices": choices, "usage": usage}

    if not body.get("stream"):
        answer = whole("chat.completion", message=said, finish_reason=reason)
        return "application/json", json.dumps(answer)
    kind = "chat.completion.chunk"
    begun, ended = (
        whole(kind, delta=said, finish_reason=None),
        whole(kind, delta={}, finish_reason=reason),
    )
    kind, text = server_sent([begun, ended])
    return kind, text + "data: [DONE]\n\n"


class Model(ThreadingHTTPServer):
    """Answers each turn with the next step of the script, and keeps the requests."""

    def __init__(self, program):
        super().__init__(("127.0.0.1", 0), Handler)
        self.program = program
        self.requests = []
        self.script = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        model = self.server
        is_turn = model.program.is_turn(body)
        if is_turn:
            model.requests.append(body)
        save = model.script.pop(0) if is_turn and model.script else None
        self.say(*model.program.answer(self.path, body, save))

    def do_GET(self):
        self.say("application/json", '{"models": []}')

    do_HEAD = do_GET

    def say(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


class Home:
    """A user's home, in which commands are run."""

    def __init__(self, path, environment):
        self.path = pathlib.Path(path)
        self.project = self.path / "shop"
        self.project.mkdir()
        self._environment = {
            "HOME": path,
            "PATH": os.environ["PATH"],
            "TMPDIR": path,
            **environment,
        }

    def run(self, *command):
        ran = subprocess.run(
            command,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=180,
            stdin=subprocess.DEVNULL,
            cwd=self.project,
        )
        assert ran.returncode == 0, f"{command}: {ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def files(self):
        """Every file with its text, but for what Memoir keeps of its own."""
        own = [self.path / ".local", self.path / ".config/memoir"]
        return {
            str(file): file.read_bytes()
            for file in self.path.rglob("*")
            if file.is_file() and not any(file.is_relative_to(folder) for folder in own)
        }

    def log(self, is_there):
        """What the hooks say of themselves, once that is there: some outlive the program."""
        path = self.path / ".local/state/memoir/hook.log"
        for _ in range(600):
            told = path.read_text() if path.exists() else ""
            if is_there(told):
                break
            time.sleep(0.05)
        return told


def handed_over(log):
    """How many messages were."""
    return sum(int(number) for number in re.findall(r"handed over (\d+) message", log))


def story(program):
    model = Model(program)
    with tempfile.TemporaryDirectory() as path:
        home = Home(path, program.environment(model.url))
        program.prepare(home.path, model.url)

        sessions = 0

        def session(prompt, *expected):
            """A first request; one more session where a hook was late and printed nothing."""
            nonlocal sessions
            for _ in range(5):
                model.requests.clear()
                home.run(BINARY, *program.command(model.url, prompt))
                sessions += 1
                assert model.requests, "the program has asked its model"
                request = json.dumps(model.requests[0])
                if all(text in request for text in expected):
                    break
            return request

        before = home.files()
        home.run(MEMOIR, "setup", program.name, "--yes")
        written = [file for file, text in home.files().items() if before.get(file) != text]
        assert written, "it is set up"
        home.run(MEMOIR, "setup", program.name, "--remove", "--yes")
        assert home.files() == before, "every byte is taken back"
        home.run(MEMOIR, "setup", program.name, "--yes")
        home.run(MEMOIR, "remember", "assistant", FACT)
        long_ago = ["--kind", "journal", "--at", "2026-01-05"]
        home.run(MEMOIR, "remember", "assistant", FADED, *long_ago)

        model.script = [{"content": SAVED, "kind": "core"}]
        first = session("Which thread does Marta prefer?", FACT)
        assert FACT in first, "the context is in the first request"
        assert FADED not in first, "what has left the prompt and does not bear on it is not"
        texts = home.run(MEMOIR, "context", "assistant")
        assert SAVED in texts, f"the model's tool has saved it: {str(model.requests[-1])[-3000:]}"

        second = session("In which drawer lies the blue ledger?", SAVED, FADED)
        assert SAVED in second, "what one session saved is in the next one's request"
        assert FADED in second, "what bears on a prompt is beside it"

        # A question and an answer in each session; the next one takes up what was written late.
        next_start = ["hook", "session-start", "--client", program.name, "--within", "20000"]
        home.run(MEMOIR, *next_start, "--agent", "assistant")
        told = home.log(lambda told: handed_over(told) >= 2 * sessions)
        assert handed_over(told) == 2 * sessions, told
        home.run(MEMOIR, "setup", program.name, "--remove", "--yes")
        for file, text in home.files().items():
            is_clean = file not in written or MEMOIR.encode() not in text
            assert is_clean, f"{file} calls Memoir no more"
        version = home.run(BINARY, "--version").split()
    number = next(word for word in version if word[0].isdigit()).rstrip(".")
    print(f"{program.name} | {number} | {FOUND} | passed")


def main(program):
    try:
        story(program)
    except AssertionError as problem:
        sys.exit(f"{program.name} | failed: {problem}")
