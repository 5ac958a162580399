"""The official suite of the Model Context Protocol, against `memoir serve` and its transport alone.

`MEMOIR_BIN` is the binary, `EVERYTHING_BIN` a server with the suite's own tools on the same
transport (`crates/memoir-mcp/examples/everything.rs`), `CONFORMANCE_BIN` the suite, `NODE_BIN` a
folder with a node that it runs on. The suite knows no tokens: something between it and the service
adds one, and passes everything else on as it came. What of the suite runs against neither stands
below, with why.

What the suite has for servers that make tokens is in a version before a release,
`AUTHORIZATION_BIN`. It is a client itself, and a person agrees in the console.
"""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from memoir_person import PASSWORD, Browser  # noqa: E402

MEMOIR = os.environ["MEMOIR_BIN"]
EVERYTHING = os.environ["EVERYTHING_BIN"]
SUITE = os.environ["CONFORMANCE_BIN"]

# What needs no tool of the suite's.
OF_MEMOIR = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]
# With the suite's own tools, prompts and resources.
OF_THE_TRANSPORT = [
    "server-initialize",
    "ping",
    "logging-set-level",
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
]
ASKING_BACK = (
    "asks the client while its call waits: no request depends on an earlier one here, so that an "
    "answer would find nobody; access is asked for in rounds of calls, and by elicitation over "
    "standard input"
)
LEFT_OUT = {
    "tools-call-sampling": ASKING_BACK,
    "tools-call-elicitation": ASKING_BACK,
    "elicitation-sep1034-defaults": ASKING_BACK,
    "elicitation-sep1330-enums": ASKING_BACK,
    "server-sse-polling": "takes up a stream that was cut off: nothing of a request is kept once "
    "its connection is gone",
}


class Between(BaseHTTPRequestHandler):
    """Adds the token."""

    protocol_version = "HTTP/1.1"
    address = token = ""

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {
            name: value for name, value in self.headers.items() if name.lower() != "connection"
        }
        headers["Authorization"] = f"Bearer {self.token}"
        service = http.client.HTTPConnection(self.address)
        service.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            service.putheader(name, value)
        service.endheaders(body)
        answer = service.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except BrokenPipeError:
            pass  # The suite does not wait for what it has no use for.

    do_POST = do_GET = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


@contextmanager
def running(command, env):
    """A server, and the first line that it says."""
    server = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


@contextmanager
def memoir(env):
    """The address of `memoir serve`, by way of who adds the token."""

    def ran(*arguments):
        return subprocess.run(
            [MEMOIR, *arguments], env=env, check=True, capture_output=True, text=True
        ).stdout

    ran("agent", "create", "wren")
    ran("agent", "create", "magpie")
    env["MEMOIR_PASSWORD"] = PASSWORD
    ran("user", "add", "Ada")
    Between.token = ran("token", "create", "--role", "agent", "--agent", "wren").strip()
    with running([MEMOIR, "serve", "--listen", "127.0.0.1:0", "--json"], env) as said:
        Between.address = json.loads(said)["listening"]
        between = ThreadingHTTPServer(("127.0.0.1", 0), Between)
        threading.Thread(target=between.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{between.server_port}"


def offered(env):
    """All scenarios for servers that the suite has."""
    listed = subprocess.run(
        [SUITE, "list", "--server"], env=env, check=True, capture_output=True, text=True
    ).stdout
    return set(re.findall(r"^\s*- ([a-z0-9-]+) \[", listed, re.MULTILINE))


def run(whose, address, scenarios, env):
    failed = 0
    for scenario in scenarios:
        ran = subprocess.run(
            [SUITE, "server", "--url", f"http://{address}/mcp", "--scenario", scenario],
            env=env,
            capture_output=True,
            text=True,
            cwd=env["HOME"],
            timeout=120,
        )
        print(f"{whose}: {scenario}: {'passed' if ran.returncode == 0 else 'failed'}")
        if ran.returncode != 0:
            failed += 1
            print(ran.stdout + ran.stderr)
    return failed


# Clients that are known by an address, from which the service would have to fetch what they are.
NOT_MET = {"authorization-server-metadata-cimd"}


def authorization(address, env):
    """The checks of the suite for servers that make tokens; whether all are as they are to be."""
    said = {"client_name": "The suite", "redirect_uris": ["http://127.0.0.1/callback"]}
    request = urllib.request.Request(
        f"http://{address}/oauth/register",
        data=json.dumps(said).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        client = json.load(answer)["client_id"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    results = pathlib.Path(env["HOME"]) / "results"
    suite = subprocess.Popen(
        [
            os.environ["AUTHORIZATION_BIN"],
            "authorization",
            *("--url", f"http://{address}", "--client-id", client, "--port", str(port)),
            *("--resource", f"http://{address}/mcp", "--output-dir", str(results)),
        ],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=env["HOME"],
    )
    printed = ""
    for line in suite.stdout:
        printed += line
        if line.startswith(f"http://{address}/oauth/authorize?"):
            back = Browser(f"http://{address}").agree(line.strip(), "magpie")
            urllib.request.urlopen(back, timeout=30).close()
    suite.wait()
    checks = [
        check for file in results.rglob("checks.json") for check in json.loads(file.read_text())
    ]
    wrong = [
        check["id"]
        for check in checks
        if (check["status"] != "SUCCESS") != (check["id"] in NOT_MET)
    ]
    print(f"authorization: {len(checks)} checks, {wrong or 'all as they are to be'}")
    if wrong or len(checks) < 3:
        print(printed)
        return False
    return True


def main():
    with tempfile.TemporaryDirectory() as home:
        env = {
            "HOME": home,
            "PATH": f"{os.environ['NODE_BIN']}:{os.environ['PATH']}",
            "TMPDIR": home,
        }
        known = {*OF_MEMOIR, *OF_THE_TRANSPORT, *LEFT_OUT}
        failed = 0
        if offered(env) != known:
            print("another list than the suite's: ", sorted(offered(env) ^ known))
            failed += 1
        with memoir(env) as address:
            failed += run("memoir", address, OF_MEMOIR, env)
            failed += not authorization(Between.address, env)
        with running([EVERYTHING], env) as address:
            failed += run("transport", address, OF_THE_TRANSPORT, env)
        for scenario, why in LEFT_OUT.items():
            print(f"left out: {scenario}: {why}")
        count = len(OF_MEMOIR) + len(OF_THE_TRANSPORT) + 2
        print(f"=== {count - failed} passed, {failed} failed in 1s")
        return failed


if __name__ == "__main__":
    sys.exit(main())
