"""The real binary for tests: a throw-away database, commands, and the service on a free port.

`MEMOIR_BIN` names the binary; without it, it is the one that `cargo build -p memoir` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def binary() -> str:
    """The path of the binary; fails the test where there is none."""
    path = os.environ.get("MEMOIR_BIN") or str(ROOT / "target" / "debug" / "memoir")
    assert os.access(path, os.X_OK), "there is no binary: run `cargo build -p memoir`"
    return path


class Service:
    """A database of its own, and `memoir serve` on it, until the block is left.

    `config` is what its file of configuration holds.
    """

    def __init__(self, config: str = "") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memoir-test-")
        self.database = f"sqlite:{self._folder.name}/memoir.db"
        # Nothing of whoever runs the tests is to count.
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self._folder.name,
            "MEMOIR_DATABASE": self.database,
        }
        if config:
            file = Path(self._folder.name, "memoir.toml")
            file.write_text(config, encoding="utf-8")
            self.environment["MEMOIR_CONFIG"] = str(file)
        self.admin = str(self.memoir("token", "create", "--role", "admin")["token"])
        self._process = subprocess.Popen(
            [binary(), "serve", "--listen", "127.0.0.1:0"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        assert first.startswith("listening on http://"), first
        self.url = first.removeprefix("listening on ").strip()
        # A pipe that nobody empties would hold the service up.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def memoir(self, *arguments: str) -> dict[str, Any]:
        """What a command prints with `--json`."""
        done = subprocess.run(
            [binary(), *arguments, "--json"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The administrator's request."""
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.admin}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            read: dict[str, Any] = json.load(answer)
            return read

    def agent(self, name: str, **settings: Any) -> str:
        """Makes an agent; its token.

        Its guard of losses is off unless the settings say otherwise: the scripted sessions let go
        of far more than a year may, to reach the breaker and the undo behind it.
        """
        self.post("/v1/agents", {"name": name, "loss_guard": "off", **settings})
        return str(self.post(f"/v1/agents/{name}/tokens", {})["token"])

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
