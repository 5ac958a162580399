"""A proxy in front of the service that causes given faults with the first responses."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class Faulty:
    """Passes requests on, and meets the first of them with `faults`, one each.

    `drop`: the service carries the request out, and the connection is cut before its answer.
    `busy SECONDS`: 429 with that Retry-After; the service gets nothing. `page`: a proxy's page.
    `cut PARTS`: a stream is cut after so many parts of it, in the middle of the next.
    """

    def __init__(self, target: str, faults: Sequence[str]) -> None:
        self.keys: list[str | None] = []
        self.last_ids: list[str | None] = []
        faults_left = list(faults)
        keys, last_ids = self.keys, self.last_ids

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def pass_on(self) -> None:
                keys.append(self.headers["Idempotency-Key"])
                last_ids.append(self.headers["Last-Event-ID"])
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                fault = faults_left.pop(0) if faults_left else ""
                if fault.startswith("busy"):
                    self.answer(429, b"", [("Retry-After", fault.split()[1])])
                    return
                if fault == "page":
                    self.answer(502, b"<html>secret</html>", [("Content-Type", "text/html")])
                    return
                at = urlsplit(target)
                assert at.hostname is not None
                service = HTTPConnection(at.hostname, at.port, timeout=30)
                service.request(self.command, self.path, body or None, dict(self.headers.items()))
                answer = service.getresponse()
                read = answer.read()
                service.close()
                if fault == "drop":
                    self.close_connection = True
                    return
                kept = [
                    (name, value)
                    for name, value in answer.getheaders()
                    if name.lower() not in ("content-length", "transfer-encoding", "connection")
                ]
                if fault.startswith("cut"):
                    parts = read.split(b"\n\n")
                    whole = b"".join(part + b"\n\n" for part in parts[: int(fault.split()[1])])
                    rest = read[len(whole) :]
                    self.close_connection = True
                    self.answer(answer.status, whole + rest[: len(rest) // 3], kept, len(read))
                    return
                self.answer(answer.status, read, kept)

            def answer(
                self,
                status: int,
                body: bytes,
                headers: list[tuple[str, str]],
                length: int | None = None,
            ) -> None:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = pass_on

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> Faulty:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
