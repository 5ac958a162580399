"""Memories under the names that frameworks give them.

A name is kept as the memory's source, and a digest of it as a tag, by which it is found. A memory
that a session merged has the names of all that it stands for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from .agent import AgentMemory, NewMemory
from .errors import Refused
from .models import Memory

_LONGEST = 200

WHAT_GOES = (
    "nothing is taken out of Memoir from outside of a refinement session. The agent refines its "
    "own memory with AgentMemory.refine(step), or with open_refinement over MCP, which removes "
    "what is there twice and can be undone; words that must not exist (a key, a person's data) go "
    "with AgentMemory.shred(number, reason=...)"
)


class Named:
    """The memories of one framework: those whose source begins with its name."""

    def __init__(self, memory: AgentMemory, framework: str) -> None:
        self.memory = memory
        self._prefix = f"{framework}:"

    def new(self, name: str, content: str) -> NewMemory:
        """A memory to save under a name."""
        source = self._prefix + name
        if len(source) > _LONGEST:
            raise Refused(
                f"a name of {len(name)} characters is too long: {_LONGEST - len(self._prefix)} fit"
            )
        return NewMemory(content=content, source=source, tags=(self._tag(name),))

    def under(self, name: str) -> list[Memory]:
        """The kept memories of a name, the oldest first."""
        found = self.memory.memories(tag=self._tag(name))
        return sorted(
            (each for each in found if name in self.names(each)), key=lambda each: each.number
        )

    def names(self, memory: Memory) -> list[str]:
        """The names that a memory has."""
        return [
            source.removeprefix(self._prefix)
            for source in memory.sources or ()
            if source.startswith(self._prefix)
        ]

    def all(self) -> Iterator[tuple[str, Memory]]:
        """Every name with each of its memories, the oldest first."""
        kept = sorted(self.memory.memories(), key=lambda each: each.number)
        return ((name, each) for each in kept for name in self.names(each))

    def _tag(self, name: str) -> str:
        return self._prefix + hashlib.sha256(name.encode()).hexdigest()[:24]


def after(instructions: str, context: str) -> str:
    """A system prompt with the memory behind it."""
    return "\n\n".join(part for part in (instructions, context) if part)
