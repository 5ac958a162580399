"""Memories under the names that frameworks give them.

A name is stored as the memory's source, and a digest of it as a tag, by which it is found. A
memory that leaves the prompt keeps both: its name still leads to it, word for word. A summary has
no name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from .agent import AgentMemory, NewMemory
from .errors import Refused
from .models import Kind, Memory

_LONGEST = 200

WHAT_GOES = (
    "nothing is deleted from outside of a refinement session. The agent refines its own memory "
    "with AgentMemory.refine(step), or with open_refinement over MCP, which moves memories to its "
    "archive and can be undone; text that must not exist (a key, a person's data) is removed with "
    "AgentMemory.shred(number, reason=...)"
)


class Named:
    """The memories of one framework: those whose source begins with its name."""

    def __init__(self, memory: AgentMemory, framework: str) -> None:
        self.memory = memory
        self._prefix = f"{framework}:"

    def new(
        self,
        name: str,
        content: str,
        replaces: tuple[int, ...] = (),
        *,
        mark: str = "",
        kind: Kind = "core",
    ) -> NewMemory:
        """A memory to save under a name, in place of others, with a mark of up to 15 characters."""
        source = self._prefix + name
        if len(source) > _LONGEST:
            raise Refused(
                f"a name of {len(name)} characters is too long: {_LONGEST - len(self._prefix)} fit"
            )
        tags = (self._tag(name), *([self._mark(name, mark)] if mark else []))
        return NewMemory(content=content, kind=kind, source=source, tags=tags, replaces=replaces)

    def mark(self, name: str, memory: Memory) -> str:
        """The mark with which a memory was saved under a name, or none."""
        # With the name: one of several texts that a session joined has the tags of all.
        before = self._mark(name, "")
        marks = (tag.removeprefix(before) for tag in memory.tags or () if tag.startswith(before))
        return next(marks, "")

    def _mark(self, name: str, mark: str) -> str:
        return f"{self._tag(name)}:{mark}"

    def under(self, name: str) -> list[Memory]:
        """The active memories of a name, archival ones included, the oldest first."""
        found = self.memory.memories(tag=self._tag(name))
        return sorted(
            (each for each in found if name in self.names(each)), key=lambda each: each.number
        )

    def names(self, memory: Memory) -> list[str]:
        """The name that a memory has, or none."""
        source = memory.source or ""
        return [source.removeprefix(self._prefix)] if source.startswith(self._prefix) else []

    def all(self) -> Iterator[tuple[str, Memory]]:
        """Every name with each of its memories, the oldest first."""
        kept = sorted(self.memory.memories(), key=lambda each: each.number)
        return ((name, each) for each in kept for name in self.names(each))

    def _tag(self, name: str) -> str:
        return self._prefix + hashlib.sha256(name.encode()).hexdigest()[:24]


def after(instructions: str, context: str) -> str:
    """A system prompt with the memory behind it."""
    return "\n\n".join(part for part in (instructions, context) if part)
