"""A person who agrees in the console that a program is connected, and their browser.

The administrator is Ada, made with `memoir user add` and this password.
"""

from __future__ import annotations

import http.client
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

PASSWORD = "correct horse battery"


class Form(HTMLParser):
    """What the form for one path holds, and the agents to choose from."""

    def __init__(self, action: str, page: str) -> None:
        super().__init__()
        self._action = action
        self._is_inside = False
        self._option: str | None = None
        self.fields: dict[str, str] = {}
        self.agents: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        if tag == "form":
            self._is_inside = of.get("action") == self._action
        elif self._is_inside and tag == "input" and of.get("type") == "hidden":
            self.fields[of["name"] or ""] = of["value"] or ""
        elif self._is_inside and tag == "option":
            self._option = of["value"]

    def handle_data(self, data: str) -> None:
        if self._option:
            self.agents[data] = self._option
            self._option = None


class Browser:
    """A person's browser: one cookie, and no redirect followed by itself."""

    def __init__(self, url: str) -> None:
        self._authority = urlsplit(url).netloc
        self._cookie = ""

    def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[str, str]:
        """The page, and where the answer leads to."""
        connection = http.client.HTTPConnection(self._authority, timeout=30)
        headers = {"Cookie": self._cookie, "Sec-Fetch-Site": "same-origin"}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(fields) if fields else None, headers)
        answer = connection.getresponse()
        set_ = answer.getheader("Set-Cookie")
        if set_:
            self._cookie = set_.split(";")[0]
        page = answer.read().decode()
        assert answer.status in (200, 303), page
        connection.close()
        return page, answer.getheader("Location") or ""

    def agree(self, url: str, agent: str) -> str:
        """Goes where a program leads, signs in, and connects it; where that leads back to."""
        split = urlsplit(url)
        path = f"{split.path}?{split.query}"
        assert split.netloc == self._authority
        _, led = self.send("GET", path)
        assert led.startswith("/sign-in"), led
        self.send("POST", "/sign-in", {"name": "Ada", "password": PASSWORD, "next": path})
        page, _ = self.send("GET", path)
        form = Form(split.path, page)
        fields = {**form.fields, "agent": form.agents[agent], "decision": "connect"}
        _, back = self.send("POST", split.path, fields)
        return back
