"""Memoir for Anthropic's SDK: its memory tool, over an agent's memory.

tool = MemoirMemoryTool(memory)
client.beta.messages.tool_runner(
    model=…, max_tokens=…, messages=…, tools=[tool], system=tool.system("You are…")
)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from ._named import WHAT_GOES, Named, after
from .agent import AgentMemory
from .errors import MemoirError, Refused

_ROOT = "/memories"


class MemoirMemoryTool(BetaAbstractMemoryTool):
    """The memory tool, where a file is the list of the memories that were saved under its path.

    `create` saves the first, `insert` another one at the end. Viewing `/memories` shows the files
    and all that the agent remembers. What would delete text is refused, with what to do.
    """

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__()
        self._named = Named(memory, "anthropic")

    def system(self, instructions: str = "", *, max_tokens: int | None = None) -> str:
        """The text for `system`: the instructions and, behind them, what the agent remembers."""
        return after(instructions, self._named.memory.context(max_tokens=max_tokens).text)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """The files and the whole memory, or the lines of one file."""
        return _told(lambda: self._view(command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Saves a memory under a new path."""
        return _told(lambda: self._create(command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Saves another memory under a path, behind those that it has."""
        return _told(lambda: self._insert(command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Refused: a saved text is not rewritten in place."""
        raise ToolError(
            f"No replacement was performed: a saved text is not rewritten in place. Use insert on "
            f"{command.path} with a sentence that says what is right now and since when; what is "
            f"saved later is read as newer. And {WHAT_GOES}."
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Refused."""
        raise ToolError(f"{command.path} was not deleted: {WHAT_GOES}.")

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Refused: where a memory came from is on its record."""
        raise ToolError(
            f"{command.old_path} was not renamed: a path is where a memory came from, which stays. "
            "Use create with the new path for what comes from now on."
        )

    def clear_all_memory(self) -> str:
        """Refused."""
        raise Refused(f"the memory is not cleared: {WHAT_GOES}")

    def _view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        if command.path.rstrip("/") == _ROOT:
            paths = sorted({name for name, _ in self._named.all()})
            files = "".join(f"\n{path}" for path in paths)
            return after(f"The files in {_ROOT}:{files}", self._named.memory.context().text)
        lines = self._lines(command.path)
        first, last = command.view_range or (1, -1)
        last = len(lines) if last == -1 else last
        shown = "\n".join(
            f"{number:6}\t{line}" for number, line in enumerate(lines, 1) if first <= number <= last
        )
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def _create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        path = _path(command.path)
        if self._named.under(path):
            raise ToolError(
                f"File {path} already exists, and is not overwritten: use insert to add to it."
            )
        self._save(path, command.file_text)
        return f"File created successfully at: {path}"

    def _insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        count = len(self._lines(command.path))
        if not 0 <= command.insert_line <= count:
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {count}]."
            )
        self._save(command.path, command.insert_text)
        return f"The file {command.path} has been edited: the text is at its end."

    def _lines(self, path: str) -> list[str]:
        kept = self._named.under(_path(path))
        if not kept:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return [line for each in kept for line in (each.content or "").split("\n")]

    def _save(self, path: str, text: str) -> None:
        self._named.memory.remember_all([self._named.new(path, text)])


class AsyncMemoirMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MemoirMemoryTool` for the asynchronous client, waited for on threads."""

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__()
        self._tool = MemoirMemoryTool(memory)

    async def system(self, instructions: str = "", *, max_tokens: int | None = None) -> str:
        """See `MemoirMemoryTool.system`."""
        return await asyncio.to_thread(self._tool.system, instructions, max_tokens=max_tokens)

    async def execute(self, command: Any) -> BetaFunctionToolResultType:
        """Carries a command out as `MemoirMemoryTool` does."""
        return await asyncio.to_thread(self._tool.execute, command)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.view`."""
        return await self.execute(command)

    async def create(
        self, command: BetaMemoryTool20250818CreateCommand
    ) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.create`."""
        return await self.execute(command)

    async def str_replace(
        self, command: BetaMemoryTool20250818StrReplaceCommand
    ) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.str_replace`."""
        return await self.execute(command)

    async def insert(
        self, command: BetaMemoryTool20250818InsertCommand
    ) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.insert`."""
        return await self.execute(command)

    async def delete(
        self, command: BetaMemoryTool20250818DeleteCommand
    ) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.delete`."""
        return await self.execute(command)

    async def rename(
        self, command: BetaMemoryTool20250818RenameCommand
    ) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.rename`."""
        return await self.execute(command)

    async def clear_all_memory(self) -> BetaFunctionToolResultType:
        """See `MemoirMemoryTool.clear_all_memory`."""
        return self._tool.clear_all_memory()


def _path(path: str) -> str:
    if not path.startswith(f"{_ROOT}/"):
        raise ToolError(f"Path must start with {_ROOT}/, got: {path}")
    return path


def _told(work: Callable[[], str]) -> str:
    """The result of a command; the model gets a refusal of the service as text."""
    try:
        return work()
    except MemoirError as error:
        raise ToolError(str(error)) from error
